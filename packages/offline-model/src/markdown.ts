import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { readable } from "./words.ts";

const MAX_ROWS = 12;
const MAX_COLUMNS = 6;
const MAX_LINES = 30;
const MAX_VALUE = 160;

/** Text of data, escaped for Markdown, so that data cannot add an image, a link or other markup. */
export function plainText(text: string, most = MAX_VALUE): string {
  const flat = text.replace(/\s+/gu, " ").trim();
  const short = flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
  return short.replace(/[\\`*|[\]]/gu, "\\$&").replaceAll("<", "&lt;");
}

/** One value on one line. */
export function inline(value: JsonValue, depth = 0): string {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return plainText(value);
  const items = Array.isArray(value) ? value : Object.entries(value);
  if (items.length === 0) return "none";
  if (depth > 1) return `${items.length} entries`;
  const shown = Array.isArray(value)
    ? value.slice(0, 10).map((item) => inline(item, depth + 1))
    : Object.entries(value)
        .slice(0, 10)
        .map(([name, member]) =>
          isScalar(member) ? `${plainText(name, 40)}: ${inline(member)}` : plainText(name, 40),
        );
  const more = items.length > shown.length ? ` and ${items.length - shown.length} more` : "";
  return shown.join(", ") + more;
}

export function isScalar(value: JsonValue): value is string | number | boolean | null {
  return value === null || typeof value !== "object";
}

/** A value as Markdown: a line, a list, a table of records, or the members of one record. Bounded in length. */
export function block(value: JsonValue): string {
  if (isScalar(value)) return inline(value);
  if (Array.isArray(value))
    return value.every(isJsonObject) ? table(value) : bullets(value.map((item) => inline(item)));
  const entries = Object.entries(value);
  const records = entries.map(([, member]) => member);
  if (entries.length > 1 && records.every(isJsonObject) && sameMembers(records)) return table(records);
  return members(entries);
}

function members(entries: readonly [string, JsonValue][]): string {
  const lines: string[] = [];
  const tables: string[] = [];
  for (const [name, member] of entries.slice(0, MAX_LINES)) {
    const title = label(name);
    const records = isJsonObject(member) ? Object.values(member) : Array.isArray(member) ? member : [];
    if (records.length > 0 && records.every(isJsonObject) && sameMembers(records))
      tables.push(`**${title}**\n\n${table(records)}`);
    else lines.push(`**${title}:** ${inline(member)}`);
  }
  if (entries.length > MAX_LINES) lines.push(`and ${entries.length - MAX_LINES} more`);
  return [lines.length > 0 ? bullets(lines) : "", ...tables].filter(Boolean).join("\n\n");
}

/** Names such as "order_id" are put in words; names that are data stay as they are. */
export const label = (name: string): string =>
  /^[a-z][A-Za-z0-9_.]*$/u.test(name) && !/\d{3}/u.test(name) ? readable(name) : plainText(name, 60);

function bullets(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES).map((line) => `- ${line}`);
  if (lines.length > MAX_LINES) shown.push(`- and ${lines.length - MAX_LINES} more`);
  return shown.join("\n") || "none";
}

function sameMembers(records: readonly JsonValue[]): boolean {
  const [first] = records;
  return (
    isJsonObject(first) &&
    records.every((record) => isJsonObject(record) && Object.keys(record).some((name) => Object.hasOwn(first, name)))
  );
}

function table(records: readonly JsonValue[]): string {
  const rows = records.filter(isJsonObject);
  const columns = [...new Set(rows.slice(0, 50).flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  if (columns.length === 0) return "none";
  const head = `| ${columns.map(label).join(" | ")} |\n|${" --- |".repeat(columns.length)}`;
  const lines = rows.slice(0, MAX_ROWS).map((row) => `| ${columns.map((name) => cell(row, name)).join(" | ")} |`);
  const more = rows.length > MAX_ROWS ? `\n\n…and ${rows.length - MAX_ROWS} more` : "";
  return [head, ...lines].join("\n") + more;
}

function cell(row: Record<string, JsonValue>, name: string): string {
  const value = Object.hasOwn(row, name) ? row[name] : undefined;
  return value === undefined ? "" : inline(value, 1);
}
