import { afterAll, beforeAll, expect, test } from "vitest";
import { CALLERS } from "@patchbay/protocol";
import { ROUTES, type RouteId } from "@patchbay/server/query/routes";
import { startIssuer } from "@patchbay/test-support/issuer";
import { startSystem } from "@patchbay/test-support/system";
import { CREDENTIALS, type CredentialName, EXPECTED } from "./credential-matrix.ts";

type Agent = { agentId: string; headers: Record<CredentialName, Record<string, string>> };

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let system: Awaited<ReturnType<typeof startSystem>>;
const agents = new Map<string, Agent>();

beforeAll(async () => {
  issuer = await startIssuer();
  const callers = { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" };
  system = await startSystem({ callers, arrivalMs: 0, heartbeatMs: 60_000 });
  const { admin } = system.plane;
  const { secret: service } = await admin.serviceTokens.create({ orgId: system.orgId, scopes: ["agents:write"] });
  const jwt = await issuer.token({ role: "clerk" });
  const expired = await issuer.token({ role: "clerk", exp: 1 });
  for (const setting of CALLERS) {
    const { agentId } = await admin.createAgent(setting, { orgId: system.orgId });
    const can = ["approve", "check"] as const;
    const { apiKey: key } = await admin.createKey({ agentId, can });
    const { apiKey: pinned } = await admin.createKey({ agentId, can, roles: ["clerk"] });
    const { accessToken } = await admin.createToken({ agentId });
    const page = await fetch(`${system.url}/agents/${agentId}/client-tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ role: "clerk", expiresInSeconds: 600, allow: ["ui-stream", "mcp"] }),
    });
    const { token } = (await page.json()) as { token: string };
    await admin.updateAgent(agentId, { settings: { callers: setting } });
    const other = { "x-patchbay-role": "manager" };
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    agents.set(setting, {
      agentId,
      headers: {
        nothing: {},
        key: { "x-api-key": key },
        pinned: { "x-api-key": pinned },
        "pinned, other role": { "x-api-key": pinned, ...other },
        "key and token": { "x-api-key": key, "x-patchbay-caller": jwt },
        "key and token, other role": { "x-api-key": key, "x-patchbay-caller": jwt, ...other },
        token: bearer(jwt),
        "token, other role": { ...bearer(jwt), ...other },
        "expired token": bearer(expired),
        "token without bearer": { "x-patchbay-caller": jwt },
        "client token": bearer(token),
        "access token": bearer(accessToken),
        "access token and token, other role": { ...bearer(accessToken), "x-patchbay-caller": jwt, ...other },
        "service token": bearer(service),
      },
    });
  }
});

afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const MESSAGE = { role: "user", content: "hi", parts: [{ type: "text", text: "hi" }] };
const BODIES: Partial<Record<RouteId, object>> = {
  query: { query: "hi" },
  queryStream: { query: "hi" },
  localQueryStream: { query: "hi" },
  sendFeedback: { score: 1 },
  decideApproval: { approved: true, as: "clerk" },
  checkCall: { toolName: "pay", parameters: {} },
  mcp: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  createChatCompletion: { model: "AGENT", messages: [MESSAGE] },
  createResponse: { model: "AGENT", input: "hi" },
  uiStream: { id: "chat-of-ada", messages: [{ id: "m", ...MESSAGE }] },
  createClientToken: { role: "clerk", expiresInSeconds: 60 },
};

async function statusOf(route: (typeof ROUTES)[number], { agentId, headers }: Agent, name: CredentialName) {
  const path = route.path.replace(":agent_id", agentId).replaceAll(/:\w+/g, "unknown");
  const accept = "application/json, text/event-stream";
  const response = await fetch(system.url + path, {
    method: route.method,
    headers: { "content-type": "application/json", accept, ...headers[name] },
    ...(route.method === "POST" && {
      body: JSON.stringify(BODIES[route.id] ?? {}).replace("AGENT", agentId),
    }),
  });
  await response.body?.cancel();
  return response.status;
}

test.each(ROUTES)("$method $path answers every credential as the matrix says", async (route) => {
  const found: Record<string, string> = {};
  for (const [setting, agent] of agents) {
    const statuses = [];
    for (const name of CREDENTIALS) statuses.push(await statusOf(route, agent, name));
    found[setting] = statuses.join(" ");
  }
  expect(found).toEqual(EXPECTED[route.id]);
});
