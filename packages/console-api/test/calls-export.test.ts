import type { CallOutcome } from "@patchbay/protocol";
import type { ServiceScope } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sampleCall, sampleRequest, sampleRun } from "../../store/test/contract/world.ts";
import { failureOf, openConsole } from "./support/open-console.ts";

interface Line {
  cursor: string;
  callId: string;
  finishedAt: string;
}

const outcome: CallOutcome = { ok: true, value: {}, redacted: ["note"] };
const linesOf = async (response: Response): Promise<Line[]> =>
  (await response.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
const callIdOf = (n: number): string => `call_${String(n).padStart(2, "0")}`;
const idsOf = (lines: Line[]): string[] => lines.map(({ callId }) => callId);

/** A console with an agent of 45 ended calls, two in each millisecond. */
async function openCalls() {
  const console = await openConsole();
  const { admin, store, orgId, clock } = console;
  const { agentId } = await admin.createAgent("Desk", { orgId });
  const manifest = { name: "desk", preparesContext: false, functions: [] };
  await store.runtimes.saveManifest(agentId, "set_1", manifest);
  const program = console.browser();

  async function run() {
    const request = sampleRequest({ context: { secret: "of the context" } });
    const started = await store.runs.start(sampleRun({ orgId, agentId, request, manifestHash: "set_1" }));
    if (started.kind !== "started") throw new Error(started.kind);
    return started.run;
  }
  async function end(callId: string, of: Awaited<ReturnType<typeof run>>, position = 0) {
    if (position % 2 === 0) clock.advance(1);
    const call = sampleCall(callId, { position, outcome, arguments: { secret: "of the arguments" } });
    await store.runs.commit(of, { calls: [call] });
  }
  const first = await run();
  for (let n = 0; n < 45; n++) await end(callIdOf(n), first, n);

  return {
    ...console,
    agentId,
    manifest,
    run,
    end,
    async asking(...scopes: ServiceScope[]) {
      const { secret } = await admin.serviceTokens.create({ orgId, scopes });
      const headers = { Authorization: `Bearer ${secret}` };
      return (query = "") => program.ask("GET", `/api/agents/${agentId}/calls${query}`, { headers });
    },
  };
}

const NEWEST_FIRST = Array.from({ length: 45 }, (_, n) => callIdOf(44 - n));

test("the export has each ended call once, newest first, and continues at the cursor of any line", async () => {
  await using calls = await openCalls();
  const ask = await calls.asking("calls:read");
  const whole = await ask();
  const lines = await linesOf(whole);

  expect(whole.headers.get("Content-Type")).toBe("application/x-ndjson");
  expect(idsOf(lines)).toEqual(NEWEST_FIRST);
  for (const at of [0, 19, 20, 44])
    expect(idsOf(await linesOf(await ask(`?cursor=${lines[at]!.cursor}`)))).toEqual(NEWEST_FIRST.slice(at + 1));
  const { finishedAt } = lines[10]!;
  expect(idsOf(await linesOf(await ask(`?from=${finishedAt}`)))).toEqual(NEWEST_FIRST.slice(0, 11));
});

test("calls that end and calls that are erased during an export move no other line", async () => {
  await using calls = await openCalls();
  const ask = await calls.asking("calls:read");
  const lines = await linesOf(await ask());
  const other = await calls.run();
  await calls.end("call_new", other);
  const { cursor } = lines[21]!;

  expect(idsOf(await linesOf(await ask(`?cursor=${cursor}`)))).toEqual(NEWEST_FIRST.slice(22));
  expect(idsOf(await linesOf(await ask()))).toEqual(["call_new", ...NEWEST_FIRST]);
  await calls.store.threads.erase(calls.agentId, other.threadId);
  expect(idsOf(await linesOf(await ask(`?cursor=${cursor}`)))).toEqual(NEWEST_FIRST.slice(22));
  expect(idsOf(await linesOf(await ask()))).toEqual(NEWEST_FIRST);
});

test("arguments and contexts need their own scope; the first line of a function set has its manifest", async () => {
  await using calls = await openCalls();
  const without = await (await calls.asking("calls:read"))();
  const within = await linesOf(await (await calls.asking("calls:read", "calls:content"))());
  const text = await without.text();

  expect(text).not.toContain("secret");
  expect(text.match(/"manifest":/g)).toHaveLength(1);
  expect(within[0]).toMatchObject({
    manifest: calls.manifest,
    manifestHash: "set_1",
    functionName: "list_orders",
    decision: "allowed",
    succeeded: true,
    redacted: ["note"],
    arguments: { secret: "of the arguments" },
    context: { secret: "of the context" },
  });
});

test.each<ServiceScope[]>([["calls:content"], ["audit:read"]])("a token with only %s is refused", async (...scopes) => {
  await using calls = await openCalls();
  expect(await failureOf(await (await calls.asking(...scopes))())).toEqual([403, "scope_required"]);
});

test("a wrong cursor and a wrong time are answered with 400", async () => {
  await using calls = await openCalls();
  const ask = await calls.asking("calls:read");
  expect(await failureOf(await ask("?cursor=x"))).toEqual([400, "invalid_request"]);
  expect(await failureOf(await ask("?from=yesterday"))).toEqual([400, "invalid_request"]);
});

test("the export reads further calls when the client has taken those before", async () => {
  await using calls = await openCalls();
  const limits: number[] = [];
  const { newest } = calls.store.calls;
  calls.store.calls.newest = (agentId, page) => {
    limits.push(page.limit);
    return newest(agentId, page);
  };

  const reader = (await (await calls.asking("calls:read"))()).body!.getReader();
  await reader.read();

  expect(limits).toEqual([20]);
  await reader.read();
  expect(limits).toEqual([20, 20]);
  await reader.cancel();
});
