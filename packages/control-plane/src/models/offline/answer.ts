import type { Outcome } from "./agenda.ts";
import type { MadeCall } from "./conversation.ts";
import { focus } from "./focus.ts";
import type { FunctionSet } from "./function-set.ts";
import { block, plainText } from "./markdown.ts";
import { describeParameter } from "./parameters.ts";
import type { Situation } from "./situation.ts";
import { isDoing, isLooking, readable } from "./words.ts";

const SIGNATURE = "_Answered by Patchbay's offline model: word matching, not a language model._";
const MAX_LISTED = 25;
const MAX_SECTION = 6000;

/** The answer to a query once nothing more is to be called. */
export function writeAnswer({ outcomes, conversation, set }: Situation): string {
  const sections: string[] = [];
  const told = new Set<string>();
  const counting = /\bhow many\b|\bcount\b|\bthe number of\b/iu.test(conversation.query);
  const results = outcomes.flatMap((outcome) => outcome.answered.map((call) => ({ outcome, call })));
  const single = new Set(results.map(({ call }) => call.key)).size === 1;
  for (const { outcome, call } of results) {
    if (told.has(call.key)) continue;
    told.add(call.key);
    sections.push(resultSection(call, outcome, { single, counting, set }));
  }
  // What failed on the way is told too, unless a later attempt made up for it.
  for (const call of results.length > 0 ? [] : conversation.made) if (call.result.isError) sections.push(failure(call));
  for (const outcome of outcomes) if (outcome.missing.length > 0) sections.push(question(outcome));
  const unmet = outcomes.filter(({ choice }) => !choice);
  if (sections.length === 0 || unmet.some(({ clause }) => clause.mood === "conditional" || clause.mood === "command")) {
    sections.push(sections.length === 0 ? capabilities(unmet, set, conversation.made) : unmetNote(unmet));
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

/** Asks for what stands nowhere in the thread, naming the parameters. */
function question({ choice, missing, alternatives }: Outcome): string {
  if (!choice) return "";
  const needs = missing.map((parameter) => {
    const told = describeParameter(parameter);
    return `- \`${parameter.path.join(".")}\`${told ? `: ${told}` : ""}`;
  });
  const others = alternatives.map(
    ({ fn, filling }) =>
      `- ${fn.title} (needs ${filling.missing.map(({ name }) => `\`${name}\``).join(", ") || "nothing more"})`,
  );
  const rest = others.length > 0 ? `\n\nIf you meant something else, I can also:\n\n${others.join("\n")}` : "";
  return `For **${readable(choice.fn.name)}** I still need:\n\n${needs.join("\n")}${rest}`;
}

function capabilities(unmet: readonly Outcome[], { functions }: FunctionSet, made: readonly MadeCall[]): string {
  if (made.length > 0)
    return `That is all I could find out.\n\n${made.map(({ name, data }) => `- ${readable(name)}: ${typeof data === "object" ? "answered" : plainText(String(data ?? "failed"))}`).join("\n")}`;
  if (functions.length === 0) return "There is no function that I may use here.";
  const opening = unmet.some(({ clause }) => clause.mood === "conditional")
    ? unmetNote(unmet)
    : "I found no function that fits.";
  const listed = functions.slice(0, MAX_LISTED).map(({ title }) => `- ${title}`);
  const more = functions.length > MAX_LISTED ? [`- and ${functions.length - MAX_LISTED} more`] : [];
  return `${opening} Here is what I can do:\n\n${[...listed, ...more].join("\n")}`;
}

function unmetNote(unmet: readonly Outcome[]): string {
  if (unmet.some(({ clause }) => clause.mood === "conditional"))
    return "I cannot weigh conditions: ask for the change without an “if” and I will make it.";
  return `I found no function that fits: ${unmet.map(({ clause }) => `“${plainText(clause.text, 80)}”`).join(", ")}.`;
}
