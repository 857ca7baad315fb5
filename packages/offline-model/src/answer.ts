import type { Outcome, PlannedCall } from "./agenda.ts";
import type { MadeCall } from "./conversation.ts";
import type { FunctionSet } from "./function-set.ts";
import { block, inline, isScalar, label, plainText } from "./markdown.ts";
import { describeParameter } from "./parameters.ts";
import type { Situation } from "./situation.ts";
import { conceptOf, isDoing, isLooking, nameWords, readable, stem, type Word } from "./words.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { isDataKey } from "./facts.ts";

const SIGNATURE = "_Answered by Patchbay's offline model: word matching, not a language model._";
const MAX_LISTED = 25;
const MAX_SECTION = 6000;

/** The answer to a query after its last call. Names the example queries where no function fits. */
export function writeAnswer(
  { outcomes, conversation, set }: Situation,
  exampleQueries: readonly string[] = [],
): string {
  const sections: string[] = [];
  const reported = new Set<string>();
  const counting = /\bhow many\b|\bcount\b|\bthe number of\b/iu.test(conversation.query);
  const results = outcomes.flatMap((outcome) => outcome.answered.map((call) => ({ outcome, call })));
  const single = new Set(results.map(({ call }) => call.key)).size === 1;
  for (const { outcome, call } of results) {
    if (reported.has(call.key)) continue;
    reported.add(call.key);
    sections.push(resultSection(call, outcome, { single, counting, set }));
  }
  // Failed calls are reported too, unless a later call succeeded.
  for (const call of results.length > 0 ? [] : conversation.made) if (call.result.isError) sections.push(failure(call));
  for (const outcome of outcomes) if (outcome.missing.length > 0) sections.push(question(outcome));
  const unmet = outcomes.filter(({ choice }) => !choice);
  if (sections.length === 0 || unmet.some(({ clause }) => clause.mood === "conditional" || clause.mood === "command")) {
    sections.push(
      sections.length === 0 ? capabilities(unmet, set, conversation.made, exampleQueries) : unmetNote(unmet),
    );
  }
  return [...new Set(sections.filter(Boolean)), SIGNATURE].join("\n\n");
}

interface Telling {
  single: boolean;
  counting: boolean;
  set: FunctionSet;
}

function resultSection(call: MadeCall, { wanted }: Outcome, { single, counting, set }: Telling): string {
  if (call.result.isError) return failure(call);
  const fn = set.functions.find(({ name }) => name === call.name);
  const about = Object.values(call.arguments)
    .filter((value): value is string => typeof value === "string" && value.length < 60)
    .map((value) => plainText(value));
  const heading = `### ${readable(call.name)}${about.length > 0 ? `: ${about.join(", ")}` : ""}`;
  const done =
    fn && !fn.readOnly ? `Done: **${readable(call.name)}**${about.length > 0 ? ` (${about.join(", ")})` : ""}.` : "";
  const words = wanted.filter(({ concept }) => !isLooking(concept) && !isDoing(concept) && !fn?.stems.has(concept));
  const { data } = call;
  const first = data === undefined ? [] : focus(data, words, counting);
  const opening =
    first.length > 0 && single && about[0] !== undefined
      ? [`${first[0] ?? ""} (${about[0]})`, ...first.slice(1)]
      : first;
  const body =
    data === undefined
      ? cutText(call.result.content)
      : typeof data === "object"
        ? block(data)
        : scalarLine(call, fn?.readOnly ?? true);
  const text = body.length > MAX_SECTION ? `${body.slice(0, body.lastIndexOf("\n", MAX_SECTION))}\n\n…and more` : body;
  return [single ? "" : heading, done, opening.join("  \n"), text].filter(Boolean).join("\n\n");
}

function scalarLine({ name, data, result }: MadeCall, readOnly: boolean): string {
  const value = data === "" || data === null || data === undefined ? "" : plainText(result.content, 4000);
  if (value === "") return readOnly ? `${readable(name)}: done, nothing returned.` : "";
  return `**${readable(name)}:** ${value}`;
}

function cutText(content: string): string {
  return `The result was too long to be read whole. It begins:\n\n${plainText(content, 1500)}`;
}

function failure({ name, result }: MadeCall): string {
  return `**${readable(name)}** failed: ${plainText(result.content, 1000)}`;
}

/** Asks for values that the thread does not contain, and names the parameters. */
function question({ choice, missing, alternatives }: Outcome): string {
  if (!choice) return "";
  const needs = missing.map((parameter) => {
    const described = describeParameter(parameter);
    return `- \`${parameter.path.join(".")}\`${described ? `: ${described}` : ""}`;
  });
  const others = alternatives.map(
    ({ fn, filling }) =>
      `- ${fn.title} (needs ${filling.missing.map(({ name }) => `\`${name}\``).join(", ") || "nothing more"})`,
  );
  const rest = others.length > 0 ? `\n\nIf you meant something else, I can also:\n\n${others.join("\n")}` : "";
  return `For **${readable(choice.fn.name)}** I still need:\n\n${needs.join("\n")}${rest}`;
}

function capabilities(
  unmet: readonly Outcome[],
  { functions }: FunctionSet,
  made: readonly MadeCall[],
  exampleQueries: readonly string[],
): string {
  if (made.length > 0)
    return `That is all I could find out.\n\n${made.map(({ name, data }) => `- ${readable(name)}: ${typeof data === "object" ? "answered" : plainText(String(data ?? "failed"))}`).join("\n")}`;
  if (functions.length === 0) return "There is no function that I may use here.";
  const opening = unmet.some(({ clause }) => clause.mood === "conditional")
    ? unmetNote(unmet)
    : "I found no function that fits.";
  const listed = functions.slice(0, MAX_LISTED).map(({ title }) => `- ${title}`);
  const more = functions.length > MAX_LISTED ? [`- and ${functions.length - MAX_LISTED} more`] : [];
  const examples = exampleQueries.map((query) => `- ${plainText(query)}`);
  const asked = examples.length > 0 ? `\n\nFor example, you can ask:\n\n${examples.join("\n")}` : "";
  return `${opening} Here is what I can do:\n\n${[...listed, ...more].join("\n")}${asked}`;
}

function unmetNote(unmet: readonly Outcome[]): string {
  if (unmet.some(({ clause }) => clause.mood === "conditional"))
    return "I cannot weigh conditions: ask for the change without an “if” and I will make it.";
  return `I found no function that fits: ${unmet.map(({ clause }) => `“${plainText(clause.text, 80)}”`).join(", ")}.`;
}

/** A numbered plan of the calls that would be made, for a query that must not be acted on yet. */
export function writePlan({ outcomes }: Situation): string {
  const steps = outcomes.flatMap(stepsOf);
  if (steps.length === 0) return "1. Call nothing: no function fits. Say what can be done instead.";
  return [...new Set(steps), "Answer from the results."].map((step, at) => `${at + 1}. ${step}`).join("\n");
}

function stepsOf({ choice, calls, missing }: Outcome): string[] {
  if (!choice) return [];
  const name = `\`${choice.fn.name}\``;
  if (missing.length > 0)
    return [`Ask for ${missing.map(({ name }) => `\`${name}\``).join(", ")}, which ${name} needs.`];
  const steps = calls.map((call) => `Call \`${call.fn.name}\`${given(call.arguments)}: ${call.fn.title}`);
  const towards = calls.find((call) => call.towards)?.towards;
  return towards ? [...steps, `Call \`${towards.name}\` with what that returns: ${towards.title}`] : steps;
}

function given(input: JsonObject): string {
  const members = Object.entries(input).map(
    ([name, value]) => `\`${name}\` ${plainText(typeof value === "string" ? value : JSON.stringify(value))}`,
  );
  return members.length > 0 ? ` with ${members.join(", ")}` : "";
}

/** In a sentence: which functions were chosen, and by which words. */
export function writeThought({ outcomes, conversation }: Situation, calls: readonly PlannedCall[]): string {
  const reasons = outcomes.flatMap(({ choice, clause }) => {
    if (!choice) return clause.mood === "conditional" ? ["The request has a condition, and I only match words."] : [];
    const words = choice.because
      .slice(0, 5)
      .map((word) => `“${word}”`)
      .join(", ");
    return [
      `${words === "" ? "The values given" : words} ${choice.because.length !== 1 ? "point" : "points"} to ${choice.fn.name}.`,
    ];
  });
  const ways = calls
    .filter(({ towards }) => towards)
    .map(({ fn, towards }) => `First ${fn.name}, for what ${towards?.name ?? ""} needs.`);
  const names = [...new Set(conversation.made.map(({ name }) => name))];
  const done = calls.length === 0 && names.length > 0 ? [`${names.join(", ")} answered; nothing more to call.`] : [];
  const missing = calls.length === 0 ? outcomes.flatMap((outcome) => outcome.missing.map(({ name }) => name)) : [];
  const gap = missing.length > 0 ? [`Missing: ${[...new Set(missing)].join(", ")}.`] : [];
  const sentences = [...new Set([...(done.length > 0 ? done : reasons), ...ways, ...gap])];
  return sentences.length > 0 ? sentences.join(" ") : "No function's words fit this query.";
}

interface Found {
  name: string;
  value: JsonValue;
  exact: boolean;
  depth: number;
}

const MAX_FOUND = 6;
const MAX_NODES = 5000;

/** The members of a result that the words of the question name, as lines that answer it. */
function focus(data: JsonValue, wanted: readonly Word[], counting: boolean): string[] {
  const stems = new Set(wanted.map(({ stem }) => stem));
  const concepts = new Set(wanted.map(({ concept }) => concept));
  const found: Found[] = [];
  let nodes = 0;
  const walk = (node: JsonValue, depth: number): void => {
    if (depth > 5 || nodes > MAX_NODES) return;
    if (Array.isArray(node)) for (const item of node) walk(item, depth + 1);
    if (!isJsonObject(node)) return;
    for (const [name, value] of Object.entries(node)) {
      nodes += 1;
      const words = nameWords(name)
        .map(stem)
        .filter((word) => word !== "id");
      const exact = words.some((word) => stems.has(word));
      if (words.length > 0 && (exact || words.some((word) => concepts.has(conceptOf(word)))))
        found.push({ name, value, exact, depth });
      walk(value, depth + 1);
    }
  };
  walk(data, 0);
  if (counting) return counts(data, found);
  const exact = found.filter((one) => one.exact);
  return lines(exact.length > 0 ? exact : found, false);
}

/** "How many": the sizes of the outermost lists that were named, the share of what is so or not so, or the size of the whole. */
function counts(data: JsonValue, found: readonly Found[]): string[] {
  const lists = found.filter(({ value }) => !isScalar(value));
  const least = Math.min(...lists.map(({ depth }) => depth));
  const named = found.filter(({ value, depth }) => typeof value === "boolean" || (!isScalar(value) && depth === least));
  if (named.length > 0) return lines(named, true);
  const whole = Array.isArray(data) ? data : isJsonObject(data) ? Object.keys(data).filter(isDataKey) : [];
  return whole.length > 0 ? [`**Count:** ${whole.length}`] : lines(found, true);
}

/** One line for each member name: its value, or all of its values if several records have it. */
function lines(found: readonly Found[], counting: boolean): string[] {
  const byName = Map.groupBy(
    found.toSorted((a, b) => a.depth - b.depth),
    ({ name }) => name,
  );
  return [...byName].slice(0, MAX_FOUND).map(
    ([name, group]) =>
      `**${label(name)}:** ${summary(
        group.map(({ value }) => value),
        counting,
      )}`,
  );
}

function summary(values: readonly JsonValue[], counting: boolean): string {
  const [first] = values;
  if (values.length === 1 && first !== undefined) {
    const size = isScalar(first) ? undefined : Array.isArray(first) ? first.length : Object.keys(Object(first)).length;
    return counting && size !== undefined ? String(size) : inline(first);
  }
  if (values.every((value) => typeof value === "boolean"))
    return `${values.filter(Boolean).length} of ${values.length}`;
  const distinct = [...new Set(values.map((value) => inline(value)))];
  return distinct.slice(0, 10).join(", ") + (distinct.length > 10 ? ` and ${distinct.length - 10} more` : "");
}
