import { createHash } from "node:crypto";
import type { CallOutcome, FlowEvidence } from "@patchbay/protocol";
import { isJsonObject, type JsonValue } from "@patchbay/kit";
import { normalForm, tokensOf } from "./forms.ts";
import { isContent } from "./words.ts";

/** Further values of a result are not trusted. */
const MOST_VALUES = 2_000;

/** A call that has ended, with what the runtime says about its result. */
export interface EndedCall {
  runId: string;
  callId: string;
  functionName: string;
  arguments: JsonValue;
  outcome: CallOutcome;
}

/** Words of a longer value by which a caller may name its record. */
const MOST_PARTS = 12;

/** Names a value without stating it: 16 characters. */
export const digestOf = (form: string): string => createHash("sha256").update(form).digest("base64url").slice(0, 16);

/** What a result gives to the calls after it. */
export function evidenceOf({ runId, callId, functionName, outcome, ...call }: EndedCall): FlowEvidence {
  const { flow: { untrusted = [], secret = [], tag } = {} } = outcome;
  const records = outcome.ok ? recordsOf(outcome.value, untrusted) : [];
  const asked = [...contextForms(outcome.input ?? call.arguments)].map(digestOf);
  return { runId, callId, functionName, untrusted, secret, asked, records, ...(tag !== undefined && { tag }) };
}

/** A result of which these values are not trusted. */
export const withoutValues = (one: FlowEvidence, values: { has(value: string): boolean }): FlowEvidence => ({
  ...one,
  records: one.records.map((record) => ({ ...record, values: record.values.filter((value) => !values.has(value)) })),
});

/**
 * The digests of the trusted values, record by record: the result itself, and each item of a list in it. A record begins with the place
 * of the one around it; the first has none.
 */
function recordsOf(value: JsonValue, untrusted: readonly string[]): FlowEvidence["records"] {
  const records: { in: number; values: string[]; parts?: string[] }[] = [];
  const covers = coversOf(untrusted);
  let count = 0;
  const begin = (around: number): number => records.push({ in: around, values: [] }) - 1;
  const visit = (part: JsonValue, path: readonly Step[], record: number): void => {
    if (count >= MOST_VALUES || covers(path)) return;
    if (Array.isArray(part))
      part.forEach((item, i) => visit(item, [...path, i], isScalar(item) ? record : begin(record)));
    else if (isJsonObject(part))
      for (const [name, inner] of Object.entries(part)) visit(inner, [...path, name], record);
    else {
      const form = formOf(part);
      if (form === undefined) return;
      const found = records[record]!;
      found.values.push(digestOf(form));
      const parts = form.includes(" ") ? tokensOf(form).filter(isContent) : [];
      if (parts.length > 0) found.parts = [...(found.parts ?? []), ...parts.slice(0, MOST_PARTS).map(digestOf)];
      count++;
    }
  };
  visit(value, [], begin(-1));
  return records;
}

type Step = string | number;

const isScalar = (value: JsonValue): boolean => typeof value !== "object" || value === null;

const formOf = (value: JsonValue): string | undefined =>
  typeof value === "string" || typeof value === "number" ? normalForm(value) : undefined;

/** The values in arguments or a context, with the names of object members that are data. */
export function contextForms(value: JsonValue): Set<string> {
  const forms = new Set<string>();
  for (const { form } of leavesOf(value)) if (form !== undefined) forms.add(form);
  return forms;
}

export interface Leaf {
  path: readonly Step[];
  value: string | number;
  form: string | undefined;
}

/** The texts and numbers in a value. */
export function* leavesOf(value: JsonValue, path: readonly Step[] = []): Iterable<Leaf> {
  if (typeof value === "string" || typeof value === "number") yield { path, value, form: normalForm(value) };
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* leavesOf(item, [...path, i]);
  else if (isJsonObject(value))
    for (const [name, inner] of Object.entries(value)) yield* leavesOf(inner, [...path, name]);
}

/** A path such as `orders[].cost`, in which `*` is any name and `[]` any item; `$` is everything. */
export function coversOf(paths: readonly string[]): (path: readonly Step[]) => boolean {
  const patterns = paths.map(stepsOf);
  return (path) =>
    patterns.some((steps) => steps.length <= path.length && steps.every((step, i) => isAt(step, path[i]!)));
}

const isAt = (step: Step, at: Step): boolean =>
  step === at || (step === "*" && typeof at === "string") || (step === "[]" && typeof at === "number");

function stepsOf(path: string): Step[] {
  if (path === "$") return [];
  return [...path.matchAll(/\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|(\[\])|([^.[\]]+)/g)].map(
    ([, quoted, index, any, name]) => {
      if (quoted !== undefined) return JSON.parse(quoted) as string;
      return index === undefined ? (any ?? name!) : Number(index);
    },
  );
}

/** True if the value has the place. */
export const hasPath = (value: JsonValue, path: string): boolean => isIn(value, stepsOf(path));

const isIn = (value: JsonValue, [step, ...rest]: readonly Step[]): boolean =>
  step === undefined || childrenOf(value).some(([at, inner]) => isAt(step, at) && isIn(inner, rest));

const childrenOf = (value: JsonValue): [Step, JsonValue][] =>
  Array.isArray(value) ? [...value.entries()] : isJsonObject(value) ? Object.entries(value) : [];

/** A path for people, such as `[2].from`. */
export const pathText = (path: readonly Step[]): string =>
  path.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i > 0 ? "." : ""}${step}`)).join("") || "$";

/** The members of an object that a rule names. */
export const memberOf = (given: JsonValue, name: string): JsonValue | undefined =>
  isJsonObject(given) && Object.hasOwn(given, name) ? given[name] : undefined;
