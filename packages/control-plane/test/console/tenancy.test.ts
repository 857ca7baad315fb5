import { CONSOLE_ROUTES, type ConsoleRoute } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import { startControlPlane } from "../../src/start/control-plane.ts";
import { requestOf } from "../store/contract/asking-runs.ts";
import { event, sampleCall, sampleRun, sampleTurn } from "../store/contract/world.ts";

const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
const named = routes.map(([name]) => name).filter((name) => name.includes(":"));

/** Bodies that a route would take, so that nothing but the ids can be what it refuses. */
const BODIES: Record<string, object> = {
  "PATCH /members/:member_id": { role: "viewer" },
  "PATCH /agents/:agent_id": { name: "Mine" },
  "POST /agents/:agent_id/credentials": { kind: "api" },
  "POST /agents/:agent_id/credentials/:credential_id/rotate": { overlapSeconds: 0 },
  "POST /agents/:agent_id/functions/:function_name/test-calls": { arguments: {} },
  "POST /agents/:agent_id/functions/:function_name/test-calls-stream": { arguments: {} },
  "POST /agents/:agent_id/access/confirmations": { manifestHash: "0123456789abcdef" },
  "POST /agents/:agent_id/access/lock-changes": { lock: { version: 2, functions: {} } },
  "POST /agents/:agent_id/approvals/:approval_id/decision": { approved: true, as: "boss" },
  "POST /agents/:agent_id/runs/:run_id/feedback": { score: 1 },
  "POST /agents/:agent_id/playground": { query: "Hello" },
  "PUT /agents/:agent_id/webhook": { url: "https://mine.example" },
  "POST /agents/:agent_id/webhook/rotate": { overlapSeconds: 0 },
  "POST /agents/:agent_id/views": { name: "Late", shared: true, search: { q: "late" } },
};

/** A service with two organisations, each with an agent, a key, a thread, a run with a call, and an owner. */
async function openNeighbours() {
  const plane = await startControlPlane({ database: "sqlite::memory:", port: 0, log: silentLog, local: true });
  async function settle(name: string) {
    const { orgId } = await plane.admin.createOrg(name);
    const { agentId, keyId } = await plane.admin.createAgent(name, { orgId });
    const { member } = await plane.admin.members.invite({ orgId, email: `${name}@example.com`, role: "owner" });
    const run = sampleRun({ orgId, agentId, keyId, sessionId: `session-${name}` });
    await plane.store.runs.start(run);
    await plane.store.runs.commit(
      { runId: run.runId, fence: 1 },
      {
        events: [event(1)],
        turn: sampleTurn(0),
        calls: [sampleCall(`call_${name}`)],
        approvals: { requested: [requestOf({ clock: { now: Date.now } }, name)] },
      },
    );
    const viewId = `view-${name}`;
    const by = { orgId, agentId, memberId: member.memberId };
    await plane.store.views.add({ viewId, ...by, name: "Late", shared: true, search: {} });
    await plane.admin.setWebhook(agentId, `https://${name}.example`);
    const { deliveryId } = await plane.admin.testWebhook(agentId);
    return {
      orgId,
      delivery_id: deliveryId,
      view_id: viewId,
      approval_id: `apr_${name}`,
      agent_id: agentId,
      credential_id: keyId,
      member_id: member.memberId,
      run_id: run.runId,
      thread_id: run.threadId,
    };
  }
  const [mine, theirs] = [await settle("mine"), await settle("theirs")];
  const { path } = await plane.admin.members.signInLink(mine.orgId);
  const ask = (method: string, path: string, body?: object, cookie = "") =>
    fetch(`${plane.url}/api${path}`, {
      method,
      headers: { Origin: plane.url, Cookie: cookie, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  const opened = await ask("POST", "/links/open", { link: path.split("#")[1] });
  const cookie = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  return {
    plane,
    mine,
    theirs,
    /** Asks a route, its ids taken from `ids`. */
    ask(name: string, ids: Record<string, string>) {
      const [method = "", path = ""] = name.split(" ");
      const filled = path.replace(/:(\w+)/g, (_all, id: string) => ids[id] ?? (id === "step" ? "0" : "look_up"));
      return ask(method, filled, BODIES[name] ?? (method === "GET" ? undefined : {}), cookie);
    },
    [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }),
  };
}

test.each(named)("%s finds nothing of another organisation", async (name) => {
  await using world = await openNeighbours();
  const { mine, theirs, plane } = world;
  const before = JSON.stringify(await everythingOf(plane, theirs));

  const all = await world.ask(name, theirs);
  expect(await answerOf(all)).toEqual([404, "not_found"]);
  // One's own agent opens nothing below it that is another's.
  const below = Object.keys(theirs).filter((id) => id !== "agent_id" && name.includes(`:${id}`));
  if (name.includes(":agent_id") && below.length > 0)
    expect(await answerOf(await world.ask(name, { ...theirs, agent_id: mine.agent_id }))).toEqual([404, "not_found"]);

  expect(JSON.stringify(await everythingOf(plane, theirs))).toBe(before);
});

test("the same routes find the organisation's own data", async () => {
  await using world = await openNeighbours();
  const reads = named.filter((name) => name.startsWith("GET") && !name.endsWith("/events"));
  const statuses = await Promise.all(reads.map(async (name) => [name, (await world.ask(name, world.mine)).status]));

  // Neither has connected functions yet, so there is no set to show.
  const missing = statuses.filter(([, status]) => status !== 200).map(([name]) => name);
  expect(missing).toEqual([
    "GET /agents/:agent_id/access",
    "GET /agents/:agent_id/access/use",
    "GET /agents/:agent_id/access/model-view",
    "GET /agents/:agent_id/access/changes",
    "GET /agents/:agent_id/functions",
    "GET /agents/:agent_id/runs/:run_id/turns/:step/request",
  ]);
});

test("lists of one organisation contain nothing of another", async () => {
  await using world = await openNeighbours();
  const lists = routes
    .filter(([name, { answer }]) => name.startsWith("GET") && !name.includes(":") && answer !== "events")
    .map(([name]) => name);
  for (const name of lists) {
    const text = await (await world.ask(name, {})).text();
    for (const id of Object.values(world.theirs)) expect([name, text.includes(id)]).toEqual([name, false]);
  }
  const foreign = await world.ask(`GET /audit?agentId=${world.theirs.agent_id}`, {});
  expect(await foreign.json()).toMatchObject({ items: [] });
});

async function answerOf(response: Response): Promise<[number, unknown]> {
  const { code } = (await response.json()) as { code?: string };
  return [response.status, code];
}

async function everythingOf(
  { store, admin }: Awaited<ReturnType<typeof openNeighbours>>["plane"],
  { orgId, agent_id, run_id, thread_id }: Awaited<ReturnType<typeof openNeighbours>>["theirs"],
) {
  return {
    agents: await admin.listAgents(orgId),
    keys: await admin.credentials.list("api", agent_id),
    members: await admin.members.list(orgId),
    views: await store.views.list(orgId, agent_id, ""),
    approvals: await store.approvals.ofRun(run_id),
    webhook: await store.webhooks.get(agent_id),
    deliveries: (await store.webhooks.deliveries({ agentId: agent_id, limit: 10 })).items.length,
    run: await store.runs.get(agent_id, run_id),
    thread: await store.threads.get(agent_id, thread_id, { limit: 100 }),
    audit: (await store.audit.list({ agentId: agent_id, limit: 100 })).items.length,
  };
}
