import { inexactNumber, isJsonObject, type ParsedJson, parseJson } from "./json.ts";

/** Strings, brackets, commas, numbers and names of constants. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\],]|[^\s{}[\],:"]+/gs;

/** What parsing a JSON text would lose: a number, or a member that its object names twice. `path` has names and indexes. */
interface Loss {
  number?: string;
  path: string;
}

/** The first loss in a valid JSON text. */
export function lossIn(json: string): Loss | undefined {
  const open: { at: string | number | undefined; names?: Set<string> }[] = [];
  const path = () => open.map(({ at }) => at).join(".");
  for (const [token] of json.matchAll(TOKEN)) {
    const inside = open.at(-1);
    if (token === "{") open.push({ at: undefined, names: new Set() });
    else if (token === "[") open.push({ at: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ",") inside!.at = typeof inside!.at === "number" ? inside!.at + 1 : undefined;
    else if (inside?.names && inside.at === undefined) {
      inside.at = JSON.parse(token) as string;
      if (inside.names.has(inside.at)) return { path: path() };
      inside.names.add(inside.at);
    } else {
      const number = inexactNumber(token);
      if (number !== undefined) return { number, path: path() };
    }
  }
  return undefined;
}

/**
 * A call's arguments as the model meant them; an empty text means no arguments. Refuses text whose value would be another
 * one: with a number that a double does not hold, a function would act on another id. `message` is for the model.
 */
export function readArguments(text: string): ParsedJson {
  if (text.trim() === "") return { ok: true, value: {} };
  const refuse = (message: string): ParsedJson => ({ ok: false, message: `The arguments ${message}.` });
  const parsed = parseJson(text);
  if (!parsed.ok) return refuse(parsed.message.replace(/^is/, "are"));
  const loss = lossIn(text);
  if (loss?.number !== undefined) {
    const where = loss.path === "" ? "" : ` in ${JSON.stringify(loss.path)}`;
    return refuse(`hold the number ${loss.number}${where}, which JSON readers cannot keep exactly. Write it as text`);
  }
  if (loss) return refuse(`have the member ${JSON.stringify(loss.path)} twice. Write each member once`);
  if (isEncoded(parsed.value)) return refuse("are a text that holds JSON. Write the object itself, not as text");
  return parsed;
}

/** True for a text that holds a JSON object or array: small models encode such values twice. */
export function isEncoded(value: unknown): boolean {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return false;
  const { ok, value: held } = { value: undefined, ...parseJson(value) };
  return ok && (isJsonObject(held) || Array.isArray(held));
}

/** Call arguments that a wire sends as a value, and pieces of them. */
const VALUES = /"(?:args|arguments|input)"\s*:\s*[{[]\s*[^\s}\]]|"numberValue"/;
const NAMES = new Set(['"args"', '"arguments"', '"input"']);

/**
 * An event's text, in which call arguments that parsing would change are texts: `"args":{"id":9007199254740993}` becomes
 * `"args":"{\"id\":9007199254740993}"`.
 */
export function withExactArguments(json: string): string {
  if (!VALUES.test(json)) return json;
  let [named, depth, from, kept, text] = [false, 0, 0, 0, ""];
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const opens = token === "{" || token === "[";
    if (depth > 0) {
      depth += opens ? 1 : token === "}" || token === "]" ? -1 : 0;
      const value = depth === 0 ? json.slice(from, index + 1) : "";
      if (value === "" || !lossIn(value)) continue;
      text += json.slice(kept, from) + JSON.stringify(value);
      kept = index + 1;
    } else if (named && opens) [depth, from] = [1, index];
    named = NAMES.has(token);
  }
  return (text + json.slice(kept)).replace(
    /("numberValue"\s*:\s*)(-?\d[\d.eE+-]*)/g,
    (piece, name: string, number: string) => (inexactNumber(number) === undefined ? piece : `${name}"${number}"`),
  );
}
