import type { RunSummary } from "@patchbay/protocol/console";
import type { Exchange } from "../../http/kernel/exchange.ts";
import type { PageOf } from "../../store/page-cursor.ts";

export type ExportFormat = "ndjson" | "json" | "csv";

const TYPES: Record<ExportFormat, string> = {
  ndjson: "application/x-ndjson",
  json: "application/json",
  csv: "text/csv; charset=utf-8",
};

const COLUMNS = [
  "runId",
  "createdAt",
  "status",
  "code",
  "query",
  "role",
  "source",
  "keyId",
  "sessionId",
  "threadId",
  "model",
  "durationMs",
  "calls",
  "failedCalls",
  "deniedCalls",
  "inputTokens",
  "outputTokens",
  "costUsd",
] as const satisfies readonly (keyof RunSummary)[];

/** A download of all pages of a list. It reads the next page when the client has taken the one before. */
export function fileOf(
  { headers }: Exchange,
  file: {
    name: string;
    format: ExportFormat;
    read: (cursor: string | undefined) => Promise<PageOf<RunSummary>>;
  },
): Response {
  const { name, format, read } = file;
  headers["Content-Type"] = TYPES[format];
  headers["Content-Disposition"] = `attachment; filename="${name}.${format}"`;
  const chunks = textsOf(format, pagesOf(read));
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(Buffer.from(value));
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: 200, headers });
}

async function* pagesOf(read: (cursor: string | undefined) => Promise<PageOf<RunSummary>>) {
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await read(cursor);
    yield items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

async function* textsOf(
  format: ExportFormat,
  pages: AsyncIterable<RunSummary[]>,
): AsyncGenerator<string, undefined, undefined> {
  if (format === "csv") yield `${COLUMNS.join(",")}\r\n`;
  let first = true;
  for await (const runs of pages) {
    if (format === "csv") yield runs.map((run) => `${COLUMNS.map((name) => cellOf(run[name])).join(",")}\r\n`).join("");
    else if (format === "ndjson") yield runs.map((run) => `${JSON.stringify(run)}\n`).join("");
    else yield runs.map((run, at) => `${first && at === 0 ? "[" : ","}\n${JSON.stringify(run)}`).join("");
    first &&= runs.length === 0;
  }
  if (format === "json") yield first ? "[]\n" : "\n]\n";
  return undefined;
}

/** RFC 4180. Spreadsheets execute a text that begins like a formula, so that it gets an apostrophe. */
function cellOf(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
