import { isJsonObject, type JsonObject, type JsonValue, type Steps } from "@patchbay/kit";
import { writeAnswer } from "./answer.ts";
import { accepts, list, resolveSchema, typeOf } from "./schema.ts";
import type { Situation } from "./agenda.ts";
import { nameWords } from "./words.ts";

const MAX_ITEMS = 50;
const MAX_DEPTH = 12;
const MAX_TEXT = 100_000;
const TEXT =
  /(?:^|_)(?:answer|summary|response|text|message|explanation|reasoning|description|notes?|comment|details)$/u;

interface Writing {
  root: JsonObject;
  /** The answer in words. */
  text: string;
  /** Budgets for members in results and for checks: the schema comes from a caller. */
  members: Steps;
  steps: Steps;
}

/**
 * A value for an answer's schema: matches members with results by their names, and takes texts from the answer in words. What
 * the results do not contain is null if the schema allows it, else the plainest value that it accepts.
 */
export function writeValue(schema: JsonObject, situation: Situation): JsonObject {
  const { made, context } = situation.conversation;
  const results = made.flatMap(({ name, data }): JsonValue[] => {
    if (data === undefined) return [];
    // `find_user_id_by_email` returns a bare user id, which is a member `user_id` here.
    const [subject = ""] = wordsIn(name).split("_by_");
    return [typeof data === "object" ? data : { [subject.replace(/^[^_]*_/u, "")]: data }];
  });
  const sources = [...results.toReversed(), ...made.map((call) => call.arguments), ...context];
  const budgets = { members: { left: 20_000 }, steps: { left: 500_000 } };
  return writeObject(schema, sources, { root: schema, text: writeAnswer(situation), ...budgets }, 0);
}

function writeObject(raw: JsonValue, sources: readonly JsonValue[], writing: Writing, depth: number): JsonObject {
  const { properties, required } = resolveSchema(raw, writing.root, writing.steps);
  const needed = new Set(list(required));
  const members = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, schema]) => {
    const value = writeMember(schema, name, sources, writing, depth + 1);
    if (value !== undefined) return [[name, value] as const];
    return needed.has(name) ? [[name, plainest(schema, sources, writing, depth + 1)] as const] : [];
  });
  return Object.fromEntries(members);
}

/** Undefined if neither a result nor the answer has a value for the member. */
function writeMember(
  raw: JsonValue,
  name: string,
  sources: readonly JsonValue[],
  writing: Writing,
  depth: number,
): JsonValue | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const fits = (value: JsonValue) => accepts(raw, value, writing.root, writing.steps);
  const found = find(name, sources, writing, fits);
  if (found !== undefined) return found;
  const schema = resolveSchema(raw, writing.root, writing.steps);
  const type = typeOf(schema);
  if (type === "string" && !schema["enum"] && TEXT.test(wordsIn(name))) return fitted(schema, writing.text);
  if (type === "object") {
    const group = find(name, sources, writing, isJsonObject);
    return group && writeObject(raw, [group], writing, depth);
  }
  if (type !== "array") return undefined;
  // Items in results, each in the form that the schema asks for.
  const items = schema["items"] ?? true;
  const given = find(name, sources, writing, Array.isArray) ?? sources.find((source) => Array.isArray(source));
  const written = list(given)
    .slice(0, MAX_ITEMS)
    .map((item) => (isJsonObject(item) ? writeObject(items, [item], writing, depth + 1) : item));
  return given !== undefined && fits(written) ? written : undefined;
}

/** The first member with that name, in any spelling, that `fits`; outer members before inner ones. */
function find(
  name: string,
  sources: readonly JsonValue[],
  { members }: Writing,
  fits: (value: JsonValue) => boolean,
): JsonValue | undefined {
  const wanted = wordsIn(name);
  for (let level = [...sources]; level.length > 0;) {
    const entries = level.flatMap((source) => Object.entries(source ?? {}));
    for (const [member, value] of entries)
      if ((members.left -= 1) <= 0) return undefined;
      else if (wordsIn(member) === wanted && fits(value)) return value;
    level = entries.map(([, value]) => value).filter((value) => typeof value === "object" && value !== null);
  }
  return undefined;
}

const wordsIn = (name: string): string => nameWords(name).join("_").toLowerCase();

/** The value that says least among those that the schema accepts. */
function plainest(raw: JsonValue, sources: readonly JsonValue[], writing: Writing, depth: number): JsonValue {
  const fits = (value: JsonValue | undefined) =>
    value !== undefined && accepts(raw, value, writing.root, writing.steps);
  const schema = resolveSchema(raw, writing.root, writing.steps);
  const { minimum = 0, exclusiveMinimum, maximum, exclusiveMaximum, minItems } = schema;
  const numbers = [0, Number(minimum), Number(exclusiveMinimum) + 1, Number(maximum), Number(exclusiveMaximum) - 1];
  const candidates = [null, schema["const"], schema["default"], list(schema["enum"])[0], false, ...numbers, []];
  const plain = candidates.find(fits);
  if (plain !== undefined) return plain;
  if (typeOf(schema) === "object" && depth <= MAX_DEPTH) return writeObject(raw, sources, writing, depth);
  if (typeOf(schema) !== "array" || depth > MAX_DEPTH) return fitted(schema, "not found");
  const count = Math.min(Number(minItems ?? 0), MAX_ITEMS);
  return Array.from({ length: count }, () => plainest(schema["items"] ?? true, [], writing, depth + 1));
}

function fitted({ minLength = 0, maxLength = MAX_TEXT }: JsonObject, text: string): string {
  const characters = Array.from(text).slice(0, Number(maxLength));
  return characters.join("").padEnd(Math.min(Number(minLength), MAX_TEXT), ".");
}
