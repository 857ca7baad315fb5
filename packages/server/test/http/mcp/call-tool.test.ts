import type { ServerContext } from "@modelcontextprotocol/server";
import type { FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { callFunction } from "../../../src/query/mcp/call-tool.ts";
import type { McpRequest } from "../../../src/query/mcp/questions.ts";
import { silentLog } from "@patchbay/kit";
import { answerOf, createFakeRuns, type FakeRun } from "../support/fake-runs.ts";

const unused = () => Promise.reject(new Error("not used here"));
const approval = { by: ["caller"], conditional: false, edit: [], fourEyes: false, expiresInMs: 60_000 };
const fn: FunctionManifest = { ...fakeManifest(["refund"]).functions[0]!, approval };
const ctx = { mcpReq: {} } as ServerContext;

/** Calls of one client over fake runs, which a test ends. */
function openCalls() {
  const runs = createFakeRuns();
  const begun: FakeRun[] = [];
  runs.onBegin = (run) => void begun.push(run);
  const principal = { keyId: "key_1", agentId: "agt_1", orgId: "org_1", tier: "sandbox" };
  const request: McpRequest = {
    deps: {
      runs,
      approvals: { requireRight() {}, list: unused, get: unused, decidable: unused, decide: unused },
      bus: createMemoryBus(),
      within: (_orgId, work) => work(),
      log: silentLog,
    },
    caller: { principal, holder: principal, role: "clerk", threadScope: "key_1" },
    origin: { requestId: "req_1", adapter: "/agents/:agent_id/mcp" },
    facts: {},
    gone: new AbortController().signal,
    revoked: new AbortController().signal,
    approvalUrl: (approvalId) => approvalId,
  };
  return {
    runs,
    begun,
    call: () => callFunction(request, { tool: "refund", input: {}, fn }, ctx),
    end(run: FakeRun) {
      const { result, event } = answerOf(run);
      run.end(result, event);
    },
  };
}

test("equal calls at the same time are runs of their own", async () => {
  const { begun, call, end } = openCalls();
  const calls = [call(), call()];
  await expect.poll(() => begun.length).toBe(2);
  for (const run of begun) end(run);

  const runIds = (await Promise.all(calls)).map(({ _meta }) => _meta?.["patchbay/runId"]);

  expect(runIds).toEqual(begun.map(({ handle }) => handle.runId));
});

test("after its replica has stopped, the same call gets the outcome of the run, once", async () => {
  const { begun, call, end } = openCalls();
  const first = call();
  await expect.poll(() => begun.length).toBe(1);
  begun[0]!.drain();
  await expect(first).rejects.toThrow("continues on another one");
  end(begun[0]!);

  const { runId } = begun[0]!.handle;
  expect((await call())._meta).toEqual({ "patchbay/runId": runId });
  const next = call();
  await expect.poll(() => begun.length).toBe(2);
  end(begun[1]!);
  await next;
});
