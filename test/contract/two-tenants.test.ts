import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES, type RouteId } from "@patchbay/server/query/routes";
import { printFigure } from "@patchbay/test-support/figures";
import { dialGateway, joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

/** Text of one organisation that no response to the other one may contain. */
const OWN = "tenant-a-own-text";

const waiting: Script = ({ step, query }) =>
  step === 0 && query === OWN ? { calls: [{ name: "wait", arguments: { id: OWN } }] } : { text: `waited for ${query}` };

/** Organisation A owns the test service; B has its own agent, keys and runtime. */
let a: ContractSystem;
let b: { agentId: string; apiKey: string; runtimeKey: string; accessToken: string };
let ids: { runId: string; threadId: string };
let running: { runId: string; threadId: string };
const seenByB: string[] = [];
let asked: Promise<unknown>;

beforeAll(async () => {
  a = await startContractSystem(waiting);
  a.desk.release("ended");
  const { admin } = a.plane;
  const { orgId } = await admin.createOrg("Other", "sandbox");
  const { agentId, apiKey } = await admin.createAgent("Other", { orgId, instructions: "" });
  const { runtimeKey } = await admin.createRuntimeKey({ agentId });
  const { accessToken } = await admin.createToken({ agentId });
  b = { agentId, apiKey, runtimeKey, accessToken };

  const stream = await a.post(a.path("query-stream"), { query: OWN });
  running = { runId: stream.headers.get("X-Run-Id") ?? "", threadId: stream.headers.get("X-Thread-Id") ?? "" };
  asked = stream.text();
  await a.desk.begun(OWN);
  ids = running;
});

afterAll(() => a?.[Symbol.asyncDispose]());

/** A request of B that contains ids of A, with B's own keys. */
interface Swap {
  name: string;
  path: string;
  body: object;
  headers: Record<string, string>;
  allowed: number[];
}

function swapsOf(route: (typeof ROUTES)[number]): Swap[] {
  const fill = (agentId: string) =>
    route.path
      .replace(":agent_id", agentId)
      .replace(":run_id", ids.runId)
      .replace(/:(thread|chat)_id/, ids.threadId);
  const secrets = {
    "B's API key": { "x-api-key": b.apiKey },
    "B's token": { authorization: `Bearer ${b.accessToken}` },
    "B's runtime key": { authorization: `Bearer ${b.runtimeKey}` },
    "all keys of B": { "x-api-key": b.apiKey, authorization: `Bearer ${b.accessToken}` },
    "no key": {},
  };
  const body = { query: "hi", threadId: ids.threadId, thread_id: ids.threadId };
  const agents = route.path.includes(":agent_id") ? [a.agentId, b.agentId] : [b.agentId];
  return Object.entries(secrets).flatMap(([name, headers]) =>
    agents.map((agentId) => ({
      name: `${route.id} of ${agentId === b.agentId ? "B" : "A"} with ${name}`,
      path: fill(agentId),
      body,
      headers: { "content-type": "application/json", "last-event-id": "0", ...headers },
      allowed: [400, 401, 403, 404, ...(agentId === b.agentId ? (UNKNOWN_CHATS[route.id] ?? []) : [])],
    })),
  );
}

/** Clients name their chats themselves: an id of A is a chat of B that has not begun. */
const UNKNOWN_CHATS: Partial<Record<RouteId, number[]>> = {
  resumeUiStream: [204],
  stopUiStream: [204],
  uiMessages: [200],
};

/** Routes without data of any tenant, and B's own lists, which must not contain A's data. */
const OPEN = new Set<RouteId>([
  "healthz",
  "readyz",
  "metrics",
  "openapi",
  "listRuns",
  "listThreads",
  "listModels",
  "connect",
]);

test.each(ROUTES)("$method $path returns and changes nothing for ids of another organisation", async (route) => {
  for (const { name, path, body, headers, allowed } of swapsOf(route)) {
    const response = await fetch(a.url + path, {
      method: route.method,
      headers,
      ...(route.method === "POST" && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    seenByB.push(`${name}\n${[...response.headers].join("\n")}\n${text}`);
    if (!OPEN.has(route.id)) expect(allowed, `${name}: ${text}`).toContain(response.status);
    expect(text, name).not.toContain(OWN);
    // B knows the id that it sent, but the rest of the response must not confirm that it exists.
    if (route.access !== "open") expect(text, name).not.toContain(ids.runId);
  }
});

test("an id of another organisation is answered byte for byte like an unknown one", async () => {
  const own = { "x-api-key": b.apiKey };
  for (const rest of ["runs/ID", "runs/ID/events", "threads/ID"]) {
    const [foreign, unknown] = await Promise.all(
      [rest.startsWith("runs") ? ids.runId : ids.threadId, "unknown"].map(async (id) => {
        const response = await a.get(`/agents/${b.agentId}/${rest.replace("ID", id)}`, own);
        const { requestId: _, ...body } = (await response.json()) as Record<string, unknown>;
        return [response.status, body];
      }),
    );
    expect(foreign).toEqual(unknown);
  }
});

test("an Idempotency-Key joins no run of another organisation", async () => {
  const key = { "idempotency-key": "the-same" };
  const mine = await a.post(a.path(), { query: "same" }, key);
  await mine.text();
  const theirs = await a.post(`/agents/${b.agentId}/query`, { query: "same" }, { ...key, "x-api-key": b.apiKey });

  expect(theirs.status).toBe(200);
  expect(await theirs.text()).not.toContain(mine.headers.get("X-Run-Id"));
  expect(theirs.headers.get("X-Run-Id")).not.toBe(mine.headers.get("X-Run-Id"));
});

test("a runtime of another organisation cannot affect a call, whatever ids its frames contain", async () => {
  const [call] = (await a.plane.store.runs.checkpoint(running.runId)).calls;
  expect(call).toMatchObject({ functionName: "wait" });
  const { callId, instanceId = "" } = call!;
  const headers = { Authorization: `Bearer ${b.runtimeKey}` };

  const thief = await joinGateway(a.plane.port, helloFrom(instanceId, ["wait"]), headers);
  for (const attempt of [1, 2, 99])
    thief.send({ type: "result", callId, attempt, outcome: { ok: true, value: "stolen by B" } });
  thief.send({ type: "progress", callId, data: "stolen by B" });
  for (const state of ["done", "unseen", "running"]) thief.send({ type: "callState", callId, state });
  for (const id of [callId, running.runId, instanceId])
    thief.send({ type: "prepared", id, prepared: { ok: true, modelContext: "stolen by B" } });
  thief.send({ type: "draining" });
  await thief.read();
  expect(thief.inbox.rest.filter(({ type }) => type === "call" || type === "callQuery")).toEqual([]);
  expect(a.plane.connectedRuntimes(a.agentId)).toBe(1);
  thief.socket.close();
  await thief.closed;

  const claimed = dialGateway(a.plane.port, { ...headers, "X-Agent-Id": a.agentId });
  const refused = await new Promise<number>((resolve) =>
    claimed.socket.once("unexpected-response", (_, response) => resolve(response.statusCode ?? 0)),
  );
  expect(refused).toBe(403);

  a.desk.release(OWN);
  const log = (await asked) as string;
  expect(log).toContain(`waited for ${OWN}`);
  expect(log).not.toContain("stolen");
});

test("every route was tried, and no response depended on data of the other organisation", () => {
  const tried = new Set(seenByB.map((text) => text.split(" ")[0]));
  expect(tried).toEqual(new Set(ROUTES.map(({ id }) => id)));
  expect(seenByB.join("\n")).not.toContain(OWN);
  printFigure("two tenants", {
    routes: `${tried.size} of ${ROUTES.length}`,
    requests: seenByB.length,
    "answers with another tenant's data": 0,
  });
});
