import { csvCell } from "@patchbay/kit";
import type { RunSummary } from "@patchbay/protocol/console";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import { type ExportedSet, MOST_TESTS } from "@patchbay/server/recording/test-file";
import type { PageOf } from "@patchbay/store/page-cursor";
import type { Actor } from "../actors.ts";
import type { ConsoleDeps } from "../handler.ts";
import type { AgentScope } from "../lists.ts";
import type { ConsoleQueries } from "../queries.ts";
import type { Sorted } from "./facts.ts";
import type { RunFilter } from "./filter.ts";

export const TYPES = { ndjson: "application/x-ndjson", json: "application/json", csv: "text/csv; charset=utf-8" };

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

/** A download that creates its next part after the client has received the previous one. */
export function download(
  { headers }: Exchange,
  { name, type }: { name: string; type: string },
  parts: AsyncGenerator<string | Uint8Array, undefined, undefined>,
): Response {
  headers["Content-Type"] = type;
  headers["Content-Disposition"] = `attachment; filename="${name}"`;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(typeof value === "string" ? Buffer.from(value) : value);
      },
      cancel: async () => void (await parts.return(undefined)),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: 200, headers });
}

export type ExportDeps = Pick<ConsoleDeps, "access" | "within" | "reads">;
type Pages = AsyncIterator<object[], undefined, undefined>;

/** A download with one line per entry. Reads the next page after the client has received the previous one. */
export async function ndjson(
  exchange: Exchange,
  by: Actor,
  deps: ExportDeps,
  { name, pages }: { name: string; pages: Pages },
): Promise<Response> {
  const next = () => deps.within(by.orgId, () => deps.reads.run(asStranger(by.orgId), () => pages.next()));
  // An invalid cursor needs a 400, which is too late once the response has started.
  const first = await next();
  const lines = linesOf(by, deps, { first, next });
  return download(exchange, { name: `${name}.ndjson`, type: TYPES.ndjson }, lines);
}

type Page = IteratorResult<object[], undefined>;

/** One text per page, until the session or the service token ends. */
async function* linesOf(
  { access }: Actor,
  deps: Pick<ExportDeps, "access">,
  { first, next }: { first: Page; next: () => Promise<Page> },
): AsyncGenerator<string, undefined, undefined> {
  const ended = new AbortController();
  using _held = deps.access.hold(access, () =>
    ended.abort(new ServiceError("authentication_failed", "The session or service token ended during the export.")),
  );
  for (let page = first; page.done !== true; page = await next()) {
    ended.signal.throwIfAborted();
    yield page.value.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  }
  return undefined;
}

const BLOCK = 512;

/** A tar archive in the POSIX.1-1988 ustar format. Names have at most 100 ASCII characters. */
export async function* tarOf(
  files: AsyncIterable<{ name: string; text: string }>,
): AsyncGenerator<Uint8Array, undefined, undefined> {
  const mtime = Math.floor(Date.now() / 1_000);
  for await (const { name, text } of files) {
    const content = Buffer.from(text);
    const size = Math.ceil(content.length / BLOCK) * BLOCK;
    yield Buffer.concat([tarHeader(name, content.length, mtime), content], BLOCK + size);
  }
  // Two empty blocks end an archive.
  yield Buffer.alloc(2 * BLOCK);
  return undefined;
}

function tarHeader(name: string, sizeBytes: number, mtime: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  header.write(name, 0, 100);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(sizeBytes, 124, 12);
  octal(mtime, 136, 12);
  // The checksum field contains spaces while the checksum is computed.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** All pages of a list. Reads the next page after the client has received the previous one. */
export async function* pagesOf(read: (cursor: string | undefined) => Promise<PageOf<RunSummary>>) {
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await read(cursor);
    yield items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

export async function* textsOf(
  format: keyof typeof TYPES,
  pages: AsyncIterable<RunSummary[]>,
): AsyncGenerator<string, undefined, undefined> {
  if (format === "csv") yield `${COLUMNS.join(",")}\r\n`;
  let first = true;
  for await (const runs of pages) {
    if (format === "csv")
      yield runs.map((run) => `${COLUMNS.map((name) => csvCell(run[name] ?? "")).join(",")}\r\n`).join("");
    else if (format === "ndjson") yield runs.map((run) => `${JSON.stringify(run)}\n`).join("");
    else yield runs.map((run, at) => `${first && at === 0 ? "[" : ","}\n${JSON.stringify(run)}`).join("");
    first &&= runs.length === 0;
  }
  if (format === "json") yield first ? "[]\n" : "\n]\n";
  return undefined;
}

/** An agent's matching runs, newest first or in the requested order, up to one export's limit. */
export async function runsToExport(
  { runs }: Pick<ConsoleQueries, "runs">,
  scope: AgentScope,
  asked: RunFilter & Sorted,
): Promise<ExportedSet> {
  const found: ExportedSet["runs"][number][] = [];
  for await (const page of pagesOf((cursor) => runs.list(scope, { ...asked, limit: MOST_TESTS, cursor }))) {
    found.push(...page.map(({ runId, query }) => ({ agentId: scope.agentId, runId, query })));
    if (found.length > MOST_TESTS) break;
  }
  return { runs: found.slice(0, MOST_TESTS), more: found.length > MOST_TESTS };
}
