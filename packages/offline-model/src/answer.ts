import type { JsonValue } from "@patchbay/kit";
import type { MadeCall } from "./conversation.ts";
import { block, inline, isScalar, label, plainText } from "./markdown.ts";
import { describeParameter } from "./parameters.ts";
import type { Situation } from "./agenda.ts";
import { conceptOfWord, isVerb, nameWords, readable, stem, type Word } from "./words.ts";

const SIGNATURE = "_Answered by Patchbay's offline model: word matching, not a language model._";
const NO_CONDITIONS = "I cannot weigh conditions: ask for the change without an “if” and I will make it.";
const MAX_LISTED = 25;

/** The answer to a query after its last call. Lists functions and example queries if no function fits. */
export function writeAnswer(situation: Situation, exampleQueries: readonly string[] = []): string {
  const { answered, choice, missing, mood, conversation } = situation;
  const shown = answered.length > 0 ? answered : conversation.made;
  const sections = [
    ...shown.map((call) => resultSection(call, situation, shown.length === 1)),
    ...(missing.length > 0 ? [question(situation)] : []),
    ...(!choice && mood.kind === "conditional" ? [NO_CONDITIONS] : []),
  ];
  if (sections.length === 0) sections.push(...capabilities(situation, exampleQueries));
  return [...new Set(sections), SIGNATURE].join("\n\n");
}

function resultSection(call: MadeCall, { set, wanted }: Situation, isSingle: boolean): string {
  const { data, name, result } = call;
  const fn = set.functions.find((known) => known.name === name);
  const title = readable(name);
  if (result.isError) return `**${title}** failed: ${plainText(result.content, 1000)}`;
  const about = Object.values(call.arguments)
    .filter((value) => typeof value === "string")
    .flatMap((text) => (text.length < 60 ? plainText(text) : []));
  const words = wanted.filter(({ concept }) => !isVerb(concept) && !fn?.stems.has(concept));
  const [first, ...more] = data === undefined ? [] : focus(data, words);
  const body = () => {
    if (data === undefined)
      return `The result was too long to be read whole. It begins:\n\n${plainText(result.content, 1500)}`;
    if (!isScalar(data)) return block(data);
    if (data !== "" && data !== null) return `**${title}:** ${plainText(result.content, 4000)}`;
    return fn?.readOnly === false ? "" : `${title}: done, nothing returned.`;
  };
  return [
    isSingle ? "" : `### ${[title, about.join(", ")].filter(Boolean).join(": ")}`,
    fn?.readOnly === false ? `Done: **${title}**${about.length > 0 ? ` (${about.join(", ")})` : ""}.` : "",
    [first && isSingle && about.length > 0 ? `${first} (${about[0]})` : first, ...more].filter(Boolean).join("  \n"),
    body(),
  ]
    .filter(Boolean)
    .join("\n\n");
}

/** Asks for values that the thread does not contain, and names the parameters. */
const question = ({ choice, missing }: Situation): string =>
  `For **${readable(choice?.fn.name ?? "")}** I still need:\n\n${missing.map((parameter) => `- ${describeParameter(parameter)}`).join("\n")}`;

function capabilities({ set }: Situation, exampleQueries: readonly string[]): string[] {
  if (set.functions.length === 0) return ["I may not use any function here."];
  const listed = set.functions.slice(0, MAX_LISTED).map(({ title }) => `- ${title}`);
  if (set.functions.length > MAX_LISTED) listed.push(`- and ${set.functions.length - MAX_LISTED} more`);
  const examples = exampleQueries.map((query) => `- ${plainText(query)}`);
  return [
    `I found no function that fits. Here is what I can do:\n\n${listed.join("\n")}`,
    ...(examples.length > 0 ? [`For example, you can ask:\n\n${examples.join("\n")}`] : []),
  ];
}

/** A numbered plan with the calls to make, for a query that must not be acted on yet. */
export function writePlan({ choice, calls, missing }: Situation): string {
  if (!choice) return "1. Call nothing: no function fits. Say what can be done instead.";
  const name = `\`${choice.fn.name}\``;
  if (missing.length > 0)
    return `1. Ask for ${missing.map((parameter) => `\`${parameter.name}\``).join(", ")}, which ${name} needs.`;
  const steps = calls.map(({ fn, arguments: input }) => {
    const given = Object.entries(input).map(([key, value]) => `\`${key}\` ${inline(value)}`);
    return `Call \`${fn.name}\`${given.length > 0 ? ` with ${given.join(", ")}` : ""}: ${fn.title}`;
  });
  if (calls[0]?.fn !== choice.fn) steps.push(`Call ${name} with what that returns: ${choice.fn.title}`);
  return [...steps, "Answer from the results."].map((step, at) => `${at + 1}. ${step}`).join("\n");
}

/** In a few sentences: the chosen function, and the words that chose it. */
export function writeThought({ choice, calls, missing, mood, conversation }: Situation): string {
  const made = [...new Set(conversation.made.map(({ name }) => name))];
  const gap = missing.length > 0 ? [`Missing: ${missing.map(({ name }) => name).join(", ")}.`] : [];
  if (calls.length === 0 && made.length > 0)
    return [`${made.join(", ")} answered; nothing more to call.`, ...gap].join(" ");
  if (!choice && mood.kind === "conditional") return "The request has a condition, and I only match words.";
  if (!choice) return "No function's words fit this query.";
  const words = choice.because.slice(0, 5).map((word) => `“${word}”`);
  const reason = `${words.join(", ") || "The values given"} ${words.length === 1 ? "points" : "point"} to ${choice.fn.name}.`;
  const first =
    calls[0] && calls[0].fn !== choice.fn ? [`First ${calls[0].fn.name}, for what ${choice.fn.name} needs.`] : [];
  return [reason, ...first, ...gap].join(" ");
}

const MAX_FOUND = 6;
const MAX_NODES = 5000;
const MAX_DEPTH = 5;

/** The members that the words of the question name: a line for each name, with the values in all records. */
function focus(data: JsonValue, wanted: readonly Word[]): string[] {
  const stems = new Set(wanted.map((word) => word.stem));
  const concepts = new Set(wanted.map(({ concept }) => concept));
  const found: { name: string; value: JsonValue; isExact: boolean }[] = [];
  let level = [data];
  for (let depth = 0, nodes = 0; depth <= MAX_DEPTH && nodes < MAX_NODES; depth += 1) {
    const members = level.flatMap((node) =>
      isScalar(node) ? [] : (Object.entries(node as object) as [string, JsonValue][]),
    );
    for (const [name, value] of members) {
      const words = nameWords(name)
        .map(stem)
        .filter((word) => word !== "id");
      const isExact = words.some((word) => stems.has(word));
      if (isExact || words.some((word) => concepts.has(conceptOfWord(word)))) found.push({ name, value, isExact });
    }
    nodes += members.length;
    level = members.map(([, value]) => value);
  }
  const exact = found.filter(({ isExact }) => isExact);
  return [...Map.groupBy(exact.length > 0 ? exact : found, ({ name }) => name)]
    .slice(0, MAX_FOUND)
    .map(([name, group]) => `**${label(name)}:** ${summary(group.map(({ value }) => value))}`);
}

function summary(values: readonly JsonValue[]): string {
  if (values.length > 1 && values.every((value) => typeof value === "boolean"))
    return `${values.filter(Boolean).length} of ${values.length}`;
  const distinct = [...new Set(values.map((value) => inline(value)))];
  return distinct.slice(0, 10).join(", ") + (distinct.length > 10 ? ` and ${distinct.length - 10} more` : "");
}
