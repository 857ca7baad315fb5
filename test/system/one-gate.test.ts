import { join } from "node:path";
import { connect, silentLog } from "@patchbay/functions";
import { type QueryResponse, type RunDetail, unknownFunctionMessage } from "@patchbay/protocol";
import { callAs, runQuery, scriptedModel } from "@patchbay/functions/testing";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { ROUTES, type RouteId } from "@patchbay/server/query/routes";
import { startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { createTracedService, ALLOWED_TRACE } from "../support/traced-service.ts";
import { callFrame, startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { freePort } from "@patchbay/test-support/free-port";
import { callThenAnswer, startStandIn, type Script } from "@patchbay/test-support/providers";
import { sourcesWith } from "../support/source-files.ts";
import { parseSse } from "@patchbay/test-support/sse";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

type Desk = ReturnType<typeof createTracedService>;
/** The outcome of each call: `ran`, or its error code. By name, since a denial may arrive before a result. */
type Fates = Record<string, string>;
/** The part of a chunk of the AI SDK that contains how a call ended. */
type Chunk = { type: string; toolCallId?: string; toolName?: string; errorText?: string };
/** Calls the handlers by one path as a clerk: `look_up` and the denied `wipe_all`. */
type Way = (desk: Desk) => Promise<Fates>;

const CALLS = [{ name: "look_up" }, { name: "wipe_all" }];
const asClerk = { role: "clerk" };
const fatesOf = (calls: readonly { toolName: string; success: boolean; code?: string | undefined }[]): Fates =>
  Object.fromEntries(calls.map(({ toolName, success, code }) => [toolName, success ? "ran" : String(code)]));

async function startWith(desk: Desk | undefined, options: SystemOptions & { script?: Script } = {}) {
  const { script = callThenAnswer(CALLS), ...rest } = options;
  const standIn = await startStandIn("anthropic", script);
  const system = await startSystem({ ...(desk && { service: desk.service }), providers: standIn.config, ...rest });
  return {
    ...system,
    standIn,
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
    },
  };
}

/** A run of one of OpenAI's APIs. */
async function completedRun(desk: Desk, api: string, body: object): Promise<Fates> {
  await using system = await startWith(desk);
  const { agentId } = system;
  const response = await system.post(`/agents/${agentId}/v1/${api}`, { model: `${agentId}:clerk`, ...body });
  await response.text();
  const detail = await system.get(`/agents/${agentId}/runs/${response.headers.get("x-run-id")}`);
  return fatesOf(((await detail.json()) as RunDetail).result!.toolInteractions);
}

/** Every route, by whether a request to it can run functions. Add new routes here. */
const STARTING = {
  query: async (desk) => {
    await using system = await startWith(desk);
    return fatesOf((await system.query("hi", asClerk)).toolInteractions);
  },
  queryStream: async (desk) => {
    await using system = await startWith(desk);
    const { events } = await system.stream("hi", asClerk);
    return fatesOf(events.flatMap(({ data }) => (data.type === "toolResult" ? [data] : [])));
  },
  retryRun: async (desk) => {
    const calls = callThenAnswer(CALLS);
    await using system = await startWith(desk, {
      script: (request, turn) => (turn === 2 ? { error: { status: 401 } } : calls(request, turn)),
    });
    const { runId } = await system.query("hi", asClerk);
    const path = `/agents/${system.agentId}/runs/${runId}/retry`;
    const answer = await system.post(path, undefined, { prefer: "wait=60" });
    return fatesOf(((await answer.json()) as QueryResponse).toolInteractions);
  },
  createChatCompletion: (desk) =>
    completedRun(desk, "chat/completions", { messages: [{ role: "user", content: "hi" }] }),
  createResponse: (desk) => completedRun(desk, "responses", { input: "hi", tools: [{ type: "function" }] }),
  localQueryStream: async (desk) => {
    await using system = await startWith(desk);
    const { events } = await system.local("hi", asClerk);
    const results = events.map(({ data }) => data).filter(({ type }) => type === "function_result");
    // The local variant has no code: a denied function has the text of an unknown one.
    const code = "unknown_function";
    return fatesOf(results.map(({ data }) => ({ toolName: String(data.name), success: data.success === true, code })));
  },
  uiStream: async (desk) => {
    await using system = await startWith(desk);
    const messages = [{ role: "user", parts: [{ type: "text", text: "hi" }] }];
    const headers = { "x-patchbay-role": asClerk.role };
    const answer = await system.post(`/agents/${system.agentId}/ui-stream`, { id: "chat", messages }, headers);
    const chunks = (await answer.text()).matchAll(/^data: (\{.*)$/gm).map(([, data = ""]) => JSON.parse(data) as Chunk);
    const names = new Map<string, string>();
    const fates: Fates = {};
    for (const { type, toolCallId = "", toolName, errorText } of chunks) {
      if (toolName !== undefined) names.set(toolCallId, toolName);
      if (type === "tool-output-available") fates[names.get(toolCallId)!] = "ran";
      // The client gets no code: a denied function has the text of an unknown one.
      if (type === "tool-output-error")
        fates[names.get(toolCallId)!] = errorText === unknownFunctionMessage("wipe_all") ? "unknown_function" : "";
    }
    return fates;
  },
  mcp: async (desk) => {
    await using system = await startWith(desk);
    const fates: Fates = {};
    for (const { name } of CALLS) {
      const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } };
      const accept = { accept: "application/json, text/event-stream", "x-patchbay-role": "clerk" };
      const answered = await system.post(`/agents/${system.agentId}/mcp`, message, accept);
      const [event] = parseSse<{ error?: { message: string } }>(await answered.text());
      // A hidden function is a tool that does not exist.
      fates[name] = event?.data.error?.message === `Unknown tool: ${name}` ? "unknown_function" : "ran";
    }
    return fates;
  },
} satisfies Partial<Record<RouteId, Way>>;

const HARMLESS: Record<Exclude<RouteId, keyof typeof STARTING>, string> = {
  runEvents: "reads the log of a run",
  localRunEvents: "reads the log of a run",
  cancelRun: "stops a run",
  sendFeedback: "stores an opinion about a run",
  deleteFeedback: "deletes an opinion about a run",
  getRun: "reads a run",
  listRuns: "reads runs",
  listThreads: "reads threads",
  getThread: "reads a thread",
  deleteThread: "erases a thread",
  getModel: "lists names",
  listModels: "reads the names of roles",
  listApprovals: "reads approvals",
  getApproval: "reads an approval",
  decideApproval: "lets a waiting run continue, whose call passes the gate again",
  listFunctions: "reads the functions of a role",
  checkCall: "lets the checks decide on a call, and makes none",
  resumeUiStream: "reads the log of a run",
  stopUiStream: "stops runs",
  uiMessages: "reads a thread",
  createClientToken: "makes a token for queries of a page",
  connect: "brings functions, calls none",
  healthz: "reads the state of the process",
  readyz: "reads the state of the process",
  metrics: "reads figures",
  resourceMetadata: "reads a setting",
  openapi: "reads a description",
};

/** Of harmless routes that need one. */
const BODIES: Record<string, string> = {
  checkCall: '{"role":"clerk","toolName":"look_up","parameters":{}}',
  sendFeedback: '{"score":1}',
  createClientToken: '{"role":"clerk","expiresInSeconds":60}',
};

const OTHER_WAYS: Record<string, Way> = {
  "a run that continues after a restart": async (desk) => {
    await using folder = await temporaryFolder();
    const database = `sqlite:${join(folder.path, "data.db")}`;
    let restarted = false;
    const calling = callThenAnswer(CALLS);
    const script: Script = (request, turn) => (restarted ? calling(request, turn) : { text: "no", stallAfterBytes: 1 });
    await using first = await startWith(desk, { database, script, port: await freePort() });
    const key = { "idempotency-key": "k" };
    const asked = first.post(`/agents/${first.agentId}/query`, { query: "hi", ...asClerk }, key);
    await first.standIn.received(1);
    await first.plane.close({ graceMs: 0 });
    await asked;

    restarted = true;
    // The runtime of the first system reconnects to the second one at the same address.
    await using _second = await startSystem({ database, port: first.plane.port, providers: first.standIn.config });
    return fatesOf((await first.query("hi", asClerk, key)).toolInteractions);
  },

  "a call that is sent to another runtime when its connection is lost": async (desk) => {
    desk.hold();
    await using system = await startWith(undefined, { reconnectMs: 50 });
    await using proxy = await startChaosProxy(system.plane.port);
    const { agentId, runtimeKey: key } = system;
    const lost = connect(desk.service, { url: `http://127.0.0.1:${proxy.port}`, agentId, key, log: silentLog });
    await lost.ready;
    const answer = system.query("hi", asClerk);
    await desk.begun;
    await system.connect(desk.service);
    proxy.refusing = true;
    proxy.cut();
    const codes = fatesOf((await answer).toolInteractions);
    await lost.stop({ drainMs: 0 });
    return codes;
  },

  "frames sent directly to a runtime": async (desk) => {
    await using plane = await startFakeControlPlane();
    const runtime = connect(desk.service, { url: plane.url, key: "key", log: silentLog });
    const link = await plane.welcome();
    const fates: Fates = {};
    for (const { name } of CALLS) {
      link.send(callFrame(`call-${name}`, { function: name, ...asClerk }));
      const { outcome } = await link.next("result");
      fates[name] = outcome.ok ? "ran" : outcome.code;
    }
    await runtime.stop({ drainMs: 0 });
    return fates;
  },

  "callAs of the test kit": async ({ service }) => {
    const fates: Fates = {};
    for (const { name } of CALLS) {
      const outcome = await callAs(service, { functionName: name, ...asClerk, log: silentLog });
      fates[name] = outcome.ok ? "ran" : outcome.code;
    }
    return fates;
  },

  "runQuery of the test kit": async ({ service }) => {
    const model = scriptedModel([{ calls: CALLS.map(({ name }) => ({ name, input: {} })) }, "Done."]);
    return fatesOf((await runQuery(service, { query: "hi", ...asClerk, model })).answer.toolInteractions);
  },
};

const WAYS = Object.entries<Way>({ ...STARTING, ...OTHER_WAYS });
/** A call with a lost connection runs twice: once at each runtime that received it. */
const TWICE = "a call that is sent to another runtime when its connection is lost";

test.for(WAYS)("%s passes the gate once per handler start, and never bypasses a role", async ([name, way]) => {
  const desk = createTracedService();

  expect(await way(desk)).toEqual({ look_up: "ran", wipe_all: "unknown_function" });
  expect(desk.trail).toEqual(name === TWICE ? [...ALLOWED_TRACE, ...ALLOWED_TRACE] : ALLOWED_TRACE);
});

test("each route is listed either as a path to a handler or as harmless", () => {
  const known = [...Object.keys(STARTING), ...Object.keys(HARMLESS)];
  expect(ROUTES.map(({ id }) => id).toSorted()).toEqual(known.toSorted());
});

test("no harmless route starts a handler", async () => {
  const desk = createTracedService();
  await using system = await startWith(desk);
  const { runId, threadId } = await system.query("hi", asClerk);
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve", "check"] });

  for (const { id, method, path } of ROUTES) {
    if (!Object.hasOwn(HARMLESS, id)) continue;
    const ids = path.replaceAll(/:(agent_id|model)/g, system.agentId);
    const url = ids.replace(":run_id", runId).replace(":thread_id", threadId);
    const body = BODIES[id] === undefined ? {} : { body: BODIES[id] };
    const headers = {
      "content-type": "application/json",
      "x-api-key": apiKey,
      authorization: `Bearer ${id === "connect" ? system.runtimeKey : system.accessToken}`,
    };
    const response = await fetch(`${system.url}${url}`, { method, headers, ...body });
    await response.text();
    // A runtime connects by WebSocket, no call waits for an approval, and the agent needs a key; every other route accepts the request.
    expect(response.ok, id).toBe(!["connect", "getApproval", "decideApproval", "resourceMetadata"].includes(id));
  }

  const [checked] = ALLOWED_TRACE;
  expect(desk.trail).toEqual([...ALLOWED_TRACE, checked]);
});

describe("in the source", () => {
  test.for([
    ["a handler is called", /\bhandler\s*\(|\.handler\s*(\?\.|\.(call|apply|bind)\b)/, ["runtime/src/gate.ts"]],
    ["a gate is created", /(?<!function )\bcreateGate\s*\(/, ["runtime/src/service.ts"]],
    [
      "a service is asked to run a call",
      /\.invoke\s*\(/,
      ["escalation/src/fixture.ts", "runtime/src/connection/calls.ts", "test-kit/src/call-as.ts"],
    ],
    ["the frame of a call is created", /^\s*type: "call",$/m, ["gateway/src/frames.ts"]],
    [
      // For runs of this replica, and for runs of peers whose order is read from the store.
      "the frame of a call is requested",
      /encodeFrame\(callFrame\(/,
      ["gateway/src/calls/call-tracker.ts", "gateway/src/peers/remote-call-server.ts"],
    ],
    [
      "a call is sent to a runtime",
      /\.(deliver|recover)\s*\(/,
      ["engine/src/run/calls/delivery.ts", "engine/src/run/calls/dispatch.ts"],
    ],
    [
      "a query becomes a run",
      /\bruns\.start\s*\(/,
      [
        "console-api/src/playground/routes.ts",
        "console-api/src/runs/routes.ts",
        "engine/src/run/start/retry.ts",
        "engine/src/run/worker/executor.ts",
        "server/src/query/mcp/call-tool.ts",
        "server/src/query/query-routes.ts",
      ],
    ],
  ] as const)("%s only in known places", ([, pattern, places]) => {
    expect(sourcesWith(pattern)).toEqual(places);
  });
});
