import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { writeAnswer } from "./answer.ts";
import { objectsIn } from "./conversation.ts";
import { accepts, asked, list, resolveSchema, type Steps, typeOf } from "./schema.ts";
import type { Situation } from "./situation.ts";
import { nameWords } from "./words.ts";

/** Places of results that one answer looks at. */
const MOST_PLACES = 20_000;
/** What one answer looks at of its schema, which comes from a caller. */
const MOST_STEPS = 500_000;
const CHARS_OF_STEP = 1_000;
const MOST_ITEMS = 50;
const MOST_DEPTH = 12;

const TEXT =
  /^(?:.*_)?(?:answer|summary|response|text|message|explanation|reasoning|description|notes?|comment|details)$/u;
const COUNT = /(?:^|_)(?:count|number_of|how_many|total_(?:number|count))(?:_|$)/u;

interface Filling {
  root: JsonObject;
  /** Results without members, with the words of their functions: `find_user_id_by_email` returns a user id. */
  bare: { about: string; value: JsonValue }[];
  text: string;
  /** The query and the text in small letters. */
  said: string;
  /** Places of results. */
  left: number;
  steps: Steps;
}

/**
 * A value for the schema of an answer, out of what the calls returned: members are matched by their names, texts are the answer
 * in words. What was not found is null where that is allowed, else the plainest value that the schema takes.
 */
export function writeValue(schema: JsonObject, situation: Situation): JsonObject {
  const { made, preface, query } = situation.conversation;
  const results = made.flatMap(({ data }) => (data === undefined ? [] : [data])).toReversed();
  const sources = [...results, ...made.map((call) => call.arguments), ...objectsIn(preface)];
  const bare = made.flatMap(({ name, data }) =>
    data === undefined || typeof data === "object" ? [] : [{ about: wordsOf(name).split("_by_")[0]!, value: data }],
  );
  const text = writeAnswer(situation);
  const said = `${query}\n${text}`.toLowerCase();
  const filling: Filling = { root: schema, bare, text, said, left: MOST_PLACES, steps: { left: MOST_STEPS } };
  return writeObject(resolve(schema, filling), sources, filling, 0);
}

const resolve = (schema: JsonValue, { root, steps }: Filling): JsonObject =>
  asked(steps, (own) => resolveSchema(schema, root, own));

const takes = (schema: JsonValue, value: JsonValue, { root, steps }: Filling): boolean =>
  asked(steps, (own) => accepts(schema, value, root, own));

function writeObject(schema: JsonObject, sources: readonly JsonValue[], filling: Filling, depth: number): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const names = list(schema["required"]);
  filling.steps.left -= names.length;
  const required = new Set(filling.steps.left > 0 ? names : []);
  const written: JsonObject = {};
  for (const [name, member] of Object.entries(properties)) {
    const value = writeMember(member, name, sources, filling, { depth: depth + 1, required: required.has(name) });
    if (value !== undefined) written[name] = value;
  }
  return written;
}

function writeMember(
  raw: JsonValue,
  name: string,
  sources: readonly JsonValue[],
  filling: Filling,
  { depth, required }: { depth: number; required: boolean },
): JsonValue | undefined {
  const schema = resolve(raw, filling);
  const notFound = (): JsonValue | undefined => {
    if (!required) return undefined;
    return takes(raw, null, filling) ? null : plainest(schema, filling);
  };
  if (filling.left-- <= 0 || depth > MOST_DEPTH) return notFound();
  const found = find(name, sources, filling, (value) => takes(raw, value, filling));
  if (found !== undefined) return found;
  const alone = filling.bare.find(
    ({ about, value }) => `_${about}_`.includes(`_${wordsOf(name)}_`) && takes(raw, value, filling),
  );
  if (alone) return alone.value;
  const type = typeOf(schema);
  if (type === "object") {
    const group = find(name, sources, filling, isJsonObject);
    if (group === undefined && !required) return undefined;
    return writeObject(schema, group === undefined ? sources : [group, ...sources], filling, depth);
  }
  if (type === "array") return writeList(schema, name, sources, filling, { depth, required });
  if (type === "string" && schema["enum"] === undefined && TEXT.test(wordsOf(name)))
    return fitted(schema, filling.text);
  if ((type === "integer" || type === "number") && COUNT.test(wordsOf(name))) {
    const lengths = sources.flatMap(listsIn).map((items) => items.length);
    if (lengths.length > 0 && takes(raw, Math.max(...lengths), filling)) return Math.max(...lengths);
  }
  const named = list(schema["enum"]).find((one) => mentions(filling, one));
  if (named !== undefined) return named;
  return notFound();
}

/** The items of a list in the results, each in the form that the schema asks for. */
function writeList(
  schema: JsonObject,
  name: string,
  sources: readonly JsonValue[],
  filling: Filling,
  { depth, required }: { depth: number; required: boolean },
): JsonValue[] | undefined {
  const items = schema["items"] ?? true;
  const most = typeof schema["maxItems"] === "number" ? Math.min(schema["maxItems"], MOST_ITEMS) : MOST_ITEMS;
  const item = resolve(items, filling);
  const given = find(name, sources, filling, Array.isArray) ?? sources.find((source) => Array.isArray(source));
  const written = (Array.isArray(given) ? given : []).slice(0, most).flatMap((one): JsonValue[] => {
    if (takes(items, one, filling)) return [one];
    if (typeOf(item) !== "object" || !isJsonObject(one)) return [];
    return [writeObject(item, [one], filling, depth + 1)];
  });
  if (written.length === 0 && !required) return undefined;
  const least = typeof schema["minItems"] === "number" ? Math.min(schema["minItems"], MOST_ITEMS) : 0;
  while (written.length < least)
    written.push(writeMember(items, name, [], filling, { depth: depth + 1, required: true }) ?? null);
  return written;
}

/** The first member of that name, however it is written, that `fits`; outer members before inner ones. */
function find(
  name: string,
  sources: readonly JsonValue[],
  filling: Filling,
  fits: (value: JsonValue) => boolean,
): JsonValue | undefined {
  const wanted = wordsOf(name);
  let level = [...sources];
  while (level.length > 0) {
    const next: JsonValue[] = [];
    for (const source of level) {
      if (filling.left-- <= 0) return undefined;
      if (Array.isArray(source)) next.push(...source.slice(0, MOST_ITEMS));
      else if (isJsonObject(source))
        for (const [member, value] of Object.entries(source)) {
          if (wordsOf(member) === wanted && fits(value)) return value;
          next.push(value);
        }
    }
    level = next.filter((value) => typeof value === "object" && value !== null);
  }
  return undefined;
}

function listsIn(source: JsonValue): JsonValue[][] {
  if (Array.isArray(source)) return [source];
  return isJsonObject(source) ? Object.values(source).filter((member) => Array.isArray(member)) : [];
}

const wordsOf = (name: string): string => nameWords(name).join("_").toLowerCase();

function mentions({ said, steps }: Filling, one: JsonValue): boolean {
  steps.left -= 1 + said.length / CHARS_OF_STEP;
  return typeof one === "string" && steps.left > 0 && said.includes(one.toLowerCase().replaceAll("_", " "));
}

/** The value that says least, of those that the schema takes. */
function plainest(schema: JsonObject, filling: Filling): JsonValue {
  if (schema["const"] !== undefined) return schema["const"];
  const [first] = list(schema["enum"]);
  if (first !== undefined) return first;
  const suggested = [schema["default"], ...list(schema["examples"])].find(
    (one) => one !== undefined && takes(schema, one, filling),
  );
  if (suggested !== undefined) return suggested;
  const type = typeOf(schema);
  if (type === "object") return {};
  if (type === "array") return [];
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return least(schema);
  return type === "null" ? null : fitted(schema, "not found");
}

function least({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonObject): number {
  if (typeof minimum === "number") return Math.max(0, Math.ceil(minimum));
  if (typeof exclusiveMinimum === "number") return Math.max(0, Math.floor(exclusiveMinimum) + 1);
  if (typeof maximum === "number") return Math.min(0, Math.floor(maximum));
  return typeof exclusiveMaximum === "number" ? Math.min(0, Math.ceil(exclusiveMaximum) - 1) : 0;
}

function fitted({ minLength = 0, maxLength = 100_000 }: JsonObject, text: string): string {
  const characters = Array.from(text).slice(0, Number(maxLength));
  return characters.join("").padEnd(Math.min(Number(minLength), 100_000), ".");
}
