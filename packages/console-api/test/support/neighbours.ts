import { CONSOLE_ROUTES, SERVICE_SCOPES, type ServiceScope } from "@patchbay/protocol/console";
import { silentLog } from "@patchbay/kit";
import { startControlPlane } from "../../../control-plane/src/start/control-plane.ts";
import { requestOf } from "../../../store/test/contract/asking-runs.ts";
import { event, sampleCall, sampleRun, sampleTurn } from "../../../store/test/contract/world.ts";

/** Bodies that a route would take, so that nothing but the ids can be what it refuses. */
const BODIES: Partial<Record<keyof typeof CONSOLE_ROUTES, object>> = {
  "PATCH /members/:member_id": { role: "viewer" },
  "PATCH /agents/:agent_id": { name: "Mine" },
  "POST /agents/:agent_id/credentials": { kind: "api" },
  "POST /agents/:agent_id/credentials/:credential_id/rotate": { overlapSeconds: 0 },
  "POST /agents/:agent_id/functions/:function_name/test-calls": { arguments: {} },
  "POST /agents/:agent_id/functions/:function_name/test-calls-stream": { arguments: {} },
  "POST /agents/:agent_id/access/confirmations": { manifestHash: "0123456789abcdef" },
  "POST /agents/:agent_id/access/reviews": { manifestHash: "0123456789abcdef", days: 90 },
  "POST /agents/:agent_id/access/evidence": { functions: [], since: "90d" },
  "POST /agents/:agent_id/access/lock-changes": { lock: { version: 2, functions: {} } },
  "POST /agents/:agent_id/approvals/:approval_id/decision": { approved: true, as: "boss" },
  "POST /agents/:agent_id/runs/:run_id/feedback": { score: 1 },
  "POST /agents/:agent_id/playground": { query: "Hello" },
  "POST /service-tokens/:token_id/rotate": { overlapSeconds: 0 },
  "PUT /agents/:agent_id/webhook": { url: "https://mine.example" },
  "POST /agents/:agent_id/webhook/rotate": { overlapSeconds: 0 },
  "POST /agents/:agent_id/views": { name: "Late", shared: true, search: { q: "late" } },
};

/** A service with two organisations, each with an agent, a key, a thread, a run with a call, and an owner. */
export async function openNeighbours() {
  const plane = await startControlPlane({ database: "sqlite::memory:", port: 0, log: silentLog, local: true });
  async function settle(name: string) {
    const { orgId } = await plane.admin.createOrg(name);
    const { agentId, keyId } = await plane.admin.createAgent(name, { orgId });
    const { member } = await plane.admin.members.invite({ orgId, email: `${name}@example.com`, role: "owner" });
    // The plane would claim a run of an unknown owner at the end of its lease, and end it at its deadline.
    const hour = { leaseMs: 3_600_000, timeoutMs: 3_600_000 };
    const run = sampleRun({ orgId, agentId, keyId, sessionId: `session-${name}`, ...hour });
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
    const { token } = await plane.admin.serviceTokens.create({ orgId, scopes: SERVICE_SCOPES });
    return {
      orgId,
      token_id: token.tokenId,
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
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(`${plane.url}/api${path}`, {
      method,
      headers: { Origin: plane.url, "Content-Type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  const opened = await ask("POST", "/links/open", { link: path.split("#")[1] });
  const cookie = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  return {
    plane,
    mine,
    theirs,
    /** The header of an owner's session. */
    owner: { Cookie: cookie },
    /** The header of a service token of `mine`. */
    async token(scopes: readonly ServiceScope[]) {
      const { secret } = await plane.admin.serviceTokens.create({ orgId: mine.orgId, scopes });
      return { Authorization: `Bearer ${secret}` };
    },
    /** Asks a route as an owner, or with these headers. Its ids are taken from `ids`. */
    ask(name: string, ids: Record<string, string>, headers: Record<string, string> = { Cookie: cookie }) {
      const [method = "", path = ""] = name.split(" ");
      const filled = path.replace(/:(\w+)/g, (_all, id: string) => ids[id] ?? (id === "step" ? "0" : "look_up"));
      const body = BODIES[name as keyof typeof BODIES] ?? (method === "GET" ? undefined : {});
      return ask(method, filled, body, headers);
    },
    [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }),
  };
}

/** What an organisation has. */
export async function everythingOf(
  { store, admin }: Awaited<ReturnType<typeof openNeighbours>>["plane"],
  { orgId, agent_id, run_id, thread_id }: Awaited<ReturnType<typeof openNeighbours>>["theirs"],
) {
  return {
    agents: await admin.listAgents(orgId),
    keys: await admin.credentials.list("api", agent_id),
    tokens: (await admin.serviceTokens.list(orgId, { limit: 100 })).items.map(({ tokenId, state }) => [tokenId, state]),
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
