import type { RecordedMessage, RecordedRequest } from "./request.ts";
import type { Recording } from "./tape.ts";

/** One changed part of a request: `what` names it, `how` shows the first difference. */
export interface Difference {
  what: string;
  how?: string;
}

/** The most similar recorded request: first by the conversation's longest equal start, then by all else. */
export function nearestTo(request: RecordedRequest, recordings: readonly Recording[]): Recording {
  let nearest = recordings[0]!;
  let best = -Infinity;
  for (const recording of recordings) {
    const score = likeness(recording.request, request);
    if (score > best) [nearest, best] = [recording, score];
  }
  return nearest;
}

function likeness(recorded: RecordedRequest, request: RecordedRequest): number {
  const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const shared = firstDifferent(recorded.messages, request.messages) ?? request.messages.length;
  const others = Math.abs(recorded.messages.length - request.messages.length);
  const functions = changedFunctions(recorded.functions, request.functions).length;
  const rest = [equal(recorded.system, request.system), equal(recorded.settings, request.settings)];
  return shared * 4 - others - Math.min(functions, 3) + rest.filter(Boolean).length;
}

/** Every part in which `request` differs from `recorded`. */
export function differences(recorded: RecordedRequest, request: RecordedRequest): Difference[] {
  return [
    ...systemDifference(recorded.system, request.system),
    ...changedFunctions(recorded.functions, request.functions),
    ...messageDifference(recorded.messages, request.messages),
    ...settingDifferences(recorded.settings, request.settings),
  ];
}

function systemDifference(recorded: readonly string[], system: readonly string[]): Difference[] {
  const line = firstDifferent(recorded, system);
  if (line === undefined) return [];
  return [{ what: `the system text changed at line ${line + 1}`, how: wasAndIs(recorded[line], system[line]) }];
}

function changedFunctions(recorded: Record<string, string>, functions: Record<string, string>): Difference[] {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(functions)])];
  return names.flatMap((name) => {
    // A function may be called `constructor`, which every object inherits.
    const [was, is] = [recorded, functions].map((all) => (Object.hasOwn(all, name) ? all[name] : undefined));
    if (was === is) return [];
    if (was === undefined) return [{ what: `function ${name} was added` }];
    if (is === undefined) return [{ what: `function ${name} was removed` }];
    return [{ what: `function ${name} has another description, schema or effect` }];
  });
}

function messageDifference(recorded: readonly RecordedMessage[], messages: readonly RecordedMessage[]): Difference[] {
  const index = firstDifferent(recorded, messages);
  if (index === undefined) return [];
  const [was, is] = [recorded[index], messages[index]];
  if (was === undefined) return [{ what: `message ${index + 1} (${kindOf(is!)}) was added`, how: textOf(is!) }];
  if (is === undefined) return [{ what: `message ${index + 1} (${kindOf(was)}) was removed`, how: textOf(was) }];
  return [{ what: `message ${index + 1} (${kindOf(is)}) changed`, how: wasAndIs(textOf(was), textOf(is)) }];
}

function settingDifferences(
  recorded: RecordedRequest["settings"],
  settings: RecordedRequest["settings"],
): Difference[] {
  const names = ["maxTokens", "temperature", "reasoning", "toolChoice"] as const;
  return names
    .filter((name) => recorded[name] !== settings[name])
    .map((name) => ({ what: `${name} was ${recorded[name] ?? "not set"}, is ${settings[name] ?? "not set"}` }));
}

function firstDifferent<T>(recorded: readonly T[], now: readonly T[]): number | undefined {
  const length = Math.max(recorded.length, now.length);
  for (let i = 0; i < length; i++) if (JSON.stringify(recorded[i]) !== JSON.stringify(now[i])) return i;
  return undefined;
}

function kindOf(message: RecordedMessage): string {
  if (message.role !== "results") return message.role;
  return `results of ${message.results.map(({ name }) => name).join(", ")}`;
}

function textOf(message: RecordedMessage): string {
  if (message.role === "user") return [message.preface, message.text].filter(Boolean).join("\n");
  if (message.role === "results") return message.results.map(({ content }) => content).join("\n");
  return [message.text, ...message.calls.map((call) => `${call.name}(${JSON.stringify(call.arguments)})`)].join("\n");
}

const BEFORE = 20;
const SHOWN = 80;

/** Both texts from shortly before the first different character. */
function wasAndIs(was = "", is = ""): string {
  let at = 0;
  while (at < was.length && was[at] === is[at]) at++;
  return `was ${excerpt(was, at)}, is ${excerpt(is, at)}`;
}

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - BEFORE);
  const shown = text.slice(from, from + SHOWN);
  return JSON.stringify(`${from > 0 ? "…" : ""}${shown}${from + SHOWN < text.length ? "…" : ""}`);
}
