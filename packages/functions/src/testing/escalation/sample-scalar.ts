import type { JsonObject } from "@patchbay/protocol";

/** Texts that stand for a format; those with `*` carry the wanted text. */
const BY_FORMAT: Record<string, string> = {
  email: "*@example.test",
  "idn-email": "*@example.test",
  uri: "https://example.test/*",
  url: "https://example.test/*",
  "uri-reference": "https://example.test/*",
  hostname: "*.example.test",
  uuid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  guid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  time: "03:04:05Z",
  duration: "P1D",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

/** For patterns nobody can guess: what ids and codes often look like. */
const COMMON = [
  "1",
  "a",
  "A",
  "123",
  "abc",
  "ABC",
  "A1",
  "1234",
  "12345",
  "AB-123",
  "a-1",
  "2026-01-02",
  "#1",
  "00000000",
];

/** A text for a schema: the wanted one where it may stand there, else one that may. */
export function sampleText(schema: JsonObject, wanted: (free: boolean) => string): string {
  const { format, pattern } = schema;
  const template = typeof format === "string" ? BY_FORMAT[format] : undefined;
  const free = template === undefined && pattern === undefined && schema["maxLength"] === undefined;
  if (template !== undefined) return template.includes("*") ? template.replace("*", wanted(false)) : template;
  const text = fitted(wanted(free), schema);
  if (typeof pattern !== "string") return text;
  const matches = compile(pattern);
  return [text, ...COMMON].find((one) => matches(one)) ?? text;
}

function fitted(text: string, { minLength, maxLength }: JsonObject): string {
  const long = typeof minLength === "number" ? text.padEnd(minLength, ".") : text;
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

function compile(pattern: string): (text: string) => boolean {
  try {
    const expression = new RegExp(pattern, "u");
    return (text) => expression.test(text);
  } catch {
    return () => false;
  }
}

/** A number for a schema: the wanted one where it may stand there, else the nearest that may. */
export function sampleNumber(schema: JsonObject, wanted: () => number): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const low =
    typeof minimum === "number" ? minimum : typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : undefined;
  const high =
    typeof maximum === "number" ? maximum : typeof exclusiveMaximum === "number" ? exclusiveMaximum - 1 : undefined;
  const step = typeof multipleOf === "number" ? multipleOf : undefined;
  const first = low ?? (high === undefined ? wanted() : high);
  const fits =
    high === undefined ? Math.max(first, low ?? first, wanted()) : Math.max(low ?? high, Math.min(high, first));
  return step === undefined ? fits : Math.ceil(fits / step) * step;
}
