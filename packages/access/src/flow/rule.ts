import {
  FLOW_MODES,
  type FlowEvidence,
  type FlowFault,
  type FlowMode,
  type FunctionManifest,
} from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { mapSchema } from "@patchbay/schema";
import { digestOf, leavesOf, memberOf } from "./results.ts";
import { normalForm, tokensOf } from "./forms.ts";
import { type CallersWords, type Deeds, deedsOf } from "./words.ts";

/** What a run has seen before a call. */
export interface FlowFacts {
  words: CallersWords;
  /** Results with trusted values. */
  results: readonly FlowEvidence[];
  /** True once the run has received something that strangers can write. */
  tainted: boolean;
  /** True once the run has received a secret. */
  secret: boolean;
  /** True if the caller wrote the arguments. */
  direct?: boolean | undefined;
}

/** Why the data-flow rules do not allow a call. Undefined if they do. */
export function flowFault(one: FunctionManifest, given: JsonValue, facts: FlowFacts): FlowFault | undefined {
  if (facts.direct === true) return undefined;
  const { targets = {}, sends = [], verbs } = one.flow ?? {};
  // A stranger may choose what a call acts on, and name it for the caller.
  const grave = facts.tainted && (one.effect !== "read" || sends.length > 0);
  const deeds = deedsOf({ ...one, verbs, isRead: one.effect === "read" });
  for (const [member, from] of Object.entries(targets)) {
    if (from === "any") continue;
    for (const form of targetsIn(memberOf(given, member), listedIn(one.inputSchema))) {
      const rule = targetFault(form, { from, grave, deeds }, facts);
      if (rule !== undefined) return { rule, member, value: digestOf(form ?? "") };
    }
  }
  const [first] = sends;
  if (first !== undefined && facts.secret) return { rule: "secret", member: first };
  if (!facts.tainted) return undefined;
  for (const member of sends)
    for (const link of linksIn(memberOf(given, member)))
      if (!facts.words.has(link)) return { rule: "link", member, value: digestOf(link) };
  return undefined;
}

/** The values in a target, with the member names that the schema does not list: in a record, they are data. */
function* targetsIn(value: JsonValue | undefined, listed: ReadonlySet<string>): Iterable<string | undefined> {
  if (typeof value === "string" || typeof value === "number") {
    if (String(value).trim() !== "") yield normalForm(value);
  } else if (typeof value === "object" && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      const isData = !Array.isArray(value) && !listed.has(name);
      if (isData) yield normalForm(name);
      // By name, a number is an amount.
      if (!isData || typeof inner !== "number") yield* targetsIn(inner, listed);
    }
}

const listed = new WeakMap<JsonObject, ReadonlySet<string>>();

/** The member names that a schema lists anywhere. */
function listedIn(schema: JsonObject): ReadonlySet<string> {
  const known = listed.get(schema);
  if (known) return known;
  const names = new Set<string>();
  mapSchema(schema, (part) => {
    for (const name of Object.keys(isJsonObject(part["properties"]) ? part["properties"] : {})) names.add(name);
    return part;
  });
  listed.set(schema, names);
  return names;
}

function targetFault(
  form: string | undefined,
  { from, grave, deeds }: { from: "caller" | "trusted"; grave: boolean; deeds: Deeds },
  { words, results }: FlowFacts,
): FlowFault["rule"] | undefined {
  if (form === undefined) return "target";
  if (words.has(form)) {
    // A caller names values for other purposes, too.
    return grave && !words.asks(form, deeds) && !isChosen(form, deeds, { words, results }) ? "mention" : undefined;
  }
  if (from === "caller" || !results.some((one) => placesIn(one, digestOf(form)).length > 0)) return "target";
  return grave && !isChosen(form, deeds, { words, results }) ? "choice" : undefined;
}

/** The records of a result that have the value. A result that repeats an argument of its own call gives nothing. */
const placesIn = ({ records, asked }: FlowEvidence, digest: string): number[] =>
  asked.includes(digest) ? [] : records.flatMap(({ values }, i) => (values.includes(digest) ? [i] : []));

/** True if the caller's words choose the record that has the value, and no other. */
function isChosen(form: string, deeds: Deeds, { words, results }: Pick<FlowFacts, "words" | "results">): boolean {
  const digest = digestOf(form);
  const named = new Set([...words.named(deeds)].map(digestOf));
  const isNamed = (value: string): boolean => value !== digest && named.has(value);
  return results.some((one) => {
    const names = one.records.map(({ values, parts = [] }) => [...values, ...parts].filter(isNamed));
    const isOnly = (name: string): boolean => names.filter((all) => all.includes(name)).length === 1;
    const isChosenRecord = (at: number): boolean => names[at]!.some(isOnly);
    return placesIn(one, digest).some((place) => {
      for (let at = place; at >= 0; at = one.records[at]!.in) {
        const around = one.records[at]!.in;
        const beside = one.records.flatMap((other, i) => (other.in === around ? [i] : []));
        if (isChosenRecord(at)) return beside.filter(isChosenRecord).length === 1;
        // The caller chose the record around, and this one is not its only one.
        if (beside.length > 1) return false;
      }
      return one.asked.some(isNamed);
    });
  });
}

/** Addresses of mail, and links in any form: with a scheme, as Markdown, and without a scheme. */
const LINK = new RegExp(
  [
    String.raw`[^\s<>"'()[\]{},;]+@[^\s<>"'()[\]{},;]+`,
    String.raw`(?:[a-z][a-z0-9+.-]*:\/\/|www\.)[^\s<>"'()[\]{}]+`,
    String.raw`[^\s<>"'()[\]{}@/]+\.[a-z]{2,}(?:[/?#:][^\s<>"'()[\]{}]*)?`,
  ].join("|"),
  "giu",
);

function* linksIn(value: JsonValue | undefined): Iterable<string> {
  if (value === undefined) return;
  for (const { value: text } of leavesOf(value))
    for (const [link] of String(text).normalize("NFKC").matchAll(LINK)) yield* tokensOf(link);
}

/** What happens to a call with a fault. An ask that no person can decide is a denial. Undefined without rules. */
export function flowEnding(
  { flow: { mode, by = [] } = {}, approval }: Pick<FunctionManifest, "flow" | "approval">,
  ofAgent: FlowMode = "report",
): FlowMode | undefined {
  if (mode === undefined) return undefined;
  const strictest = FLOW_MODES[Math.max(FLOW_MODES.indexOf(mode), FLOW_MODES.indexOf(ofAgent))];
  return strictest === "ask" && by.length === 0 && !approval ? "deny" : strictest;
}

const EXPLAINED: Record<FlowFault["rule"], (member: string) => string> = {
  target: (member) => `"${member}" has a value that neither the caller nor a trusted result gave.`,
  mention: (member) => `The caller names the value of "${member}", and does not ask for this call with it.`,
  choice: (member) => `The caller did not choose the value of "${member}" among those of the results.`,
  secret: (member) => `The run has received a secret, and "${member}" leaves your systems.`,
  link: (member) => `"${member}" has a link that the caller did not write.`,
};

/** Why a call is not allowed, for people and the model. */
export const explainFlow = ({ rule, member }: FlowFault): string => EXPLAINED[rule](member);
