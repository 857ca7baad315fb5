import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { readable } from "./words.ts";

const MAX_ROWS = 12;
const MAX_COLUMNS = 6;
const MAX_LINES = 30;
const MAX_ITEMS = 10;

/** Text in data, escaped for Markdown, so that data cannot add an image, a link or other markup. */
export function plainText(text: string, maxLength = 160): string {
  const flat = text.replace(/\s+/gu, " ").trim();
  const short = flat.length > maxLength ? `${flat.slice(0, maxLength - 1)}…` : flat;
  return short.replace(/[\\`*|[\]]/gu, "\\$&").replaceAll("<", "&lt;");
}

/** One value on one line. */
export function inline(value: JsonValue, depth = 0): string {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return plainText(String(value));
  const items = Object.entries(value);
  if (items.length === 0) return "none";
  if (depth > 1) return `${items.length} entries`;
  const shown = items.slice(0, MAX_ITEMS).map(([name, member]) => {
    if (Array.isArray(value)) return inline(member, depth + 1);
    return isScalar(member) ? `${plainText(name, 40)}: ${inline(member)}` : plainText(name, 40);
  });
  return shown.join(", ") + (items.length > MAX_ITEMS ? ` and ${items.length - MAX_ITEMS} more` : "");
}

export const isScalar = (value: JsonValue): boolean => value === null || typeof value !== "object";

/** A list or an object as Markdown: a table with a row for each record, else a list. */
export function block(value: JsonValue): string {
  const records = recordsIn(value);
  if (records && (Array.isArray(value) || records.length > 1)) return table(records);
  if (Array.isArray(value)) return bullets(value.map((item) => inline(item)));
  const members = Object.entries(isJsonObject(value) ? value : {}).map(([name, member]) => {
    return { title: label(name), member, rows: recordsIn(member) };
  });
  const lines = members.flatMap(({ title, member, rows }) => (rows ? [] : `**${title}:** ${inline(member)}`));
  const tables = members.flatMap(({ title, rows }) => (rows ? `**${title}**\n\n${table(rows)}` : []));
  return [...(lines.length > 0 || tables.length === 0 ? [bullets(lines)] : []), ...tables.slice(0, MAX_LINES)].join(
    "\n\n",
  );
}

/** Words for a name such as "order_id"; a name that is data stays as it is. */
export const label = (name: string): string =>
  /^[a-z][A-Za-z0-9_.]*$/u.test(name) && !/\d{3}/u.test(name) ? readable(name) : plainText(name, 60);

function bullets(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES).map((line) => `- ${line}`);
  if (lines.length > MAX_LINES) shown.push(`- and ${lines.length - MAX_LINES} more`);
  return shown.join("\n") || "none";
}

/** The members of a list or object, if all are records that share a member with the first. */
function recordsIn(value: JsonValue): JsonObject[] | undefined {
  const records = isScalar(value) ? [] : Object.values(value as object);
  const [first] = records;
  const isAlike = (record: JsonValue) =>
    isJsonObject(record) && Object.keys(record).some((name) => Object.hasOwn(first, name));
  return isJsonObject(first) && records.every(isAlike) ? records : undefined;
}

function table(rows: readonly JsonObject[]): string {
  const columns = [...new Set(rows.slice(0, 50).flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  const cell = (row: JsonObject, name: string) => (Object.hasOwn(row, name) ? inline(row[name] ?? null, 1) : "");
  const head = `| ${columns.map(label).join(" | ")} |\n|${" --- |".repeat(columns.length)}`;
  const lines = rows.slice(0, MAX_ROWS).map((row) => `| ${columns.map((name) => cell(row, name)).join(" | ")} |`);
  return [head, ...lines].join("\n") + (rows.length > MAX_ROWS ? `\n\n…and ${rows.length - MAX_ROWS} more` : "");
}
