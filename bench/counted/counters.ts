/**
 * Loaded into a process before anything else: counts what it does to its database, and what it sends on its WebSockets. On SIGUSR2 it
 * appends the counts to the file `out`. Its own address names that file, and a file next to `pg` and `ws`.
 */
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";

const options = new URL(import.meta.url).searchParams;
const counts = { statements: 0, commits: 0, rows: 0, writtenBytes: 0, frames: 0 };
process.on("SIGUSR2", () => appendFileSync(options.get("out")!, `${JSON.stringify(counts)}\n`));

type Method = (this: object, ...values: unknown[]) => unknown;

/** Has `count` called after each call of the method, with what it was called on and with. */
function after(
  prototype: object,
  name: string,
  count: (self: object, values: unknown[], result: unknown) => void,
): void {
  const method = (prototype as Record<string, Method>)[name]!;
  Object.assign(prototype, {
    [name](this: object, ...values: unknown[]) {
      const result = method.apply(this, values);
      count(this, values, result);
      return result;
    },
  });
}

const WRITE = /\b(?:insert into|update|delete from)\b/i;

/** A number counts the same with any digits, also in JSON: a duration of 10 ms must not count more than one of 9 ms. */
function bytesOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value !== "string" || /^-?\d+$/.test(value)) return 8;
  return Buffer.byteLength(value.replace(/:\d+(?:\.\d+)?/g, ":0"));
}

function countStatement(sql: string, values: readonly unknown[]): void {
  counts.statements++;
  if (sql === "commit") counts.commits++;
  if (WRITE.test(sql)) for (const value of values) counts.writtenBytes += bytesOf(value);
}

/** Rows that a writing statement changed or, with `returning`, returned. */
const changedRows = (result: unknown): number =>
  Array.isArray(result) ? result.length : Number((result as { changes: number | bigint }).changes);

for (const name of ["run", "all"])
  after(StatementSync.prototype, name, (statement, values, result) => {
    const { sourceSQL } = statement as StatementSync;
    countStatement(sourceSQL, values);
    if (WRITE.test(sourceSQL)) counts.rows += changedRows(result);
  });
after(DatabaseSync.prototype, "exec", (_, values) => countStatement(String(values[0]), []));

const require = createRequire(options.get("packages")!);
const { Connection } = require("pg") as { Connection: { prototype: object } };
const texts = new Map<string, string>();
/** Connections that wrote since their last commit. */
const unsaved = new WeakSet();
after(Connection.prototype, "parse", (_, values) => {
  const { name, text } = values[0] as { name: string; text: string };
  texts.set(name, text);
});
after(Connection.prototype, "bind", (connection, values) => {
  const { statement, values: bound } = values[0] as { statement: string; values: unknown[] };
  const sql = texts.get(statement)!;
  countStatement(sql, bound);
  if (WRITE.test(sql)) unsaved.add(connection);
  if (sql === "commit") unsaved.delete(connection);
});
after(Connection.prototype, "emit", (connection, [event, message]) => {
  // Outside a transaction, the server commits at the end of an exchange.
  const idle = event === "readyForQuery" && (message as { status: string }).status === "I";
  if (idle && unsaved.delete(connection)) counts.commits++;
});

const { Sender } = require("ws") as { Sender: { prototype: object } };
after(Sender.prototype, "send", () => counts.frames++);
