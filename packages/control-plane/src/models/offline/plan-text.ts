import type { JsonObject } from "@patchbay/protocol";
import type { Outcome, PlannedCall } from "./agenda.ts";
import { plainText } from "./markdown.ts";
import type { Situation } from "./situation.ts";

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
    if (!choice)
      return clause.mood === "conditional" ? ["A condition stands in the request, and I only match words."] : [];
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
