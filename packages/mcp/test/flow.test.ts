import { defineService, type JsonValue } from "@patchbay/functions";
import { expect, test } from "vitest";
import { mcpFunctions, type ToolOverride } from "../src/index.ts";
import { HOSTILE, memoryLog } from "./support/desk.ts";

/** A service with data-flow rules and the tools of the hostile server. */
async function ruledDesk(override: Record<string, ToolOverride> = {}) {
  const log = memoryLog();
  const server = { command: process.execPath, args: [HOSTILE] };
  const files = await mcpFunctions({ name: "h", server, roles: { "*": "everyone" }, override, log });
  const service = defineService({ name: "desk", functions: [...files.functions], flows: { mode: "report" } });
  const progress = Promise.withResolvers<JsonValue>();
  const call = (functionName: string, input: JsonValue = {}) =>
    service.invoke(
      {
        functionName,
        arguments: input,
        context: {},
        threadId: "thr_1",
        runId: "run_1",
        callId: "call_1",
        attempt: 1,
        timeoutMs: 60_000,
      },
      { signal: new AbortController().signal, log, onProgress: progress.resolve },
    );
  return { manifest: service.manifest, call, progress: progress.promise, [Symbol.asyncDispose]: () => files.close() };
}

const ADD = { a: 1, b: 2 };
const UNTRUSTED = { untrusted: ["$"] };

test("every tool of a server is foreign and returns untrusted data", async () => {
  await using desk = await ruledDesk();

  expect(desk.manifest.functions.length).toBeGreaterThan(2);
  for (const { flow } of desk.manifest.functions) expect(flow).toMatchObject({ foreign: true, returns: "untrusted" });
});

test("its results and its errors taint a run, and its progress is in neither", async () => {
  await using desk = await ruledDesk();

  const reporting = desk.call("h_progress");
  expect(await desk.progress).toMatchObject({ message: "half" });
  const added = await desk.call("h_add", ADD);
  const ended = [await reporting, added];
  const failed = await desk.call("h_fail");

  expect([...ended, failed].map(({ flow }) => flow)).toEqual([UNTRUSTED, UNTRUSTED, UNTRUSTED]);
  expect(failed).toMatchObject({ message: "the disk is full" });
  expect(JSON.stringify(ended)).not.toContain("half");
});

test("what the owner states in override is believed, for that tool only", async () => {
  await using desk = await ruledDesk({ add: { foreign: false, returns: "trusted" } });

  expect(await desk.call("h_add", ADD)).toEqual({ ok: true, value: "3" });
  const trusted = desk.manifest.functions.filter(({ flow }) => flow?.foreign !== true);
  expect(trusted.map(({ name, flow }) => [name, flow?.returns])).toEqual([["h_add", "trusted"]]);
});
