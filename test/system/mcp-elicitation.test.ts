import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { startApproving, startDesk } from "../support/mcp-desk.ts";
import { REPLICAS } from "../support/replicas.ts";

const ELICITS = { capabilities: { elicitation: {} } };
const ROLE = "x-patchbay-role";
const REFUND = { name: "refund", arguments: { amount: 3 } };

type Target = { url: string; agentId: string; apiKey: string };

/** A client that can ask its user, by default of the revisions of 2025. `send` replaces `fetch`. */
async function eliciting(
  { url, agentId, apiKey }: Target,
  send: typeof fetch = fetch,
  role = "manager",
  mode: "legacy" | { pin: string } = "legacy",
) {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/agents/${agentId}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${apiKey}`, [ROLE]: role } },
    fetch: send,
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode }, ...ELICITS });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

const isReply = (body: unknown): boolean =>
  typeof body === "string" && !("method" in (JSON.parse(body) as Record<string, unknown>));

test("the user of a client of 2025 confirms, rejects and dismisses a call", async () => {
  await using system = await startApproving();
  await using client = await eliciting(system);
  const asked: string[] = [];
  const actions = ["decline", "accept", "cancel"] as const;
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: actions[asked.length - 1]!, content: {} };
  });

  const rejected = await client.callTool(REFUND);
  const refunded = await client.callTool(REFUND);
  const dismissed = await client.callTool(REFUND);

  expect(asked).toEqual(Array(3).fill('Allow refund({"amount":3})?'));
  expect(rejected).toMatchObject({ isError: true, _meta: { "patchbay/code": "rejected" } });
  expect(refunded).toMatchObject({ content: [{ type: "text", text: '{"refunded":3}' }] });
  expect(dismissed).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "approval_required" },
    content: [{ text: expect.stringContaining("/console/approvals?approval=") }],
  });
});

test("the user of a client of the first SDK confirms a call", async () => {
  await using system = await startApproving();
  const client = new FirstClient({ name: "test", version: "1" }, ELICITS);
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
  const requestInit = { headers: { authorization: `Bearer ${system.apiKey}`, [ROLE]: "manager" } };
  const address = new URL(`${system.url}/agents/${system.agentId}/mcp`);
  await client.connect(new FirstTransport(address, { requestInit }));

  expect(await client.callTool(REFUND)).toMatchObject({ content: [{ type: "text", text: '{"refunded":3}' }] });
  await client.close();
});

test.each(["legacy", { pin: "2026-07-28" }] as const)(
  "the user of a client with the version %j changes what an approver may edit",
  async (mode) => {
    await using system = await startApproving();
    await using client = await eliciting(system, fetch, "manager", mode);
    const forms: unknown[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      forms.push("requestedSchema" in params && params.requestedSchema);
      return { action: "accept", content: { amount: 2, currency: "EUR" } };
    });

    const refunded = await client.callTool(REFUND);

    expect(forms).toEqual([{ type: "object", properties: { amount: { type: "number", default: 3 } } }]);
    expect(refunded).toMatchObject({ content: [{ type: "text", text: '{"refunded":2}' }] });
  },
);

test("a decision in the console ends the question of a client of 2025", async () => {
  await using system = await startApproving();
  await using client = await eliciting(system);
  const asked = Promise.withResolvers<void>();
  client.setRequestHandler("elicitation/create", async () => {
    asked.resolve();
    return await new Promise<never>(() => {});
  });
  const call = client.callTool(REFUND);
  await asked.promise;
  const approvals = `/agents/${system.agentId}/approvals`;
  const key = { "x-api-key": system.apiKey };
  const { items } = (await (await system.get(approvals, key)).json()) as { items: { approvalId: string }[] };

  await system.post(`${approvals}/${items[0]!.approvalId}/decision`, { approved: true, as: "manager" }, key);

  expect(await call).toMatchObject({ content: [{ type: "text", text: '{"refunded":3}' }] });
});

test("a caller that may not decide on its own call is asked, and learns where it is decided", async () => {
  await using system = await startApproving();
  await using client = await eliciting(system, fetch, "auditor");
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));

  expect(await client.callTool({ name: "close_books", arguments: {} })).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "approval_required" },
  });
});

test("only the caller that was asked replies, and only to a question that is open", async () => {
  await using system = await startApproving();
  const replies: { body: string; headers: Headers }[] = [];
  const sent = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  // Holds the client's reply back while others send theirs.
  await using client = await eliciting(system, async (url, init) => {
    if (isReply(init?.body)) {
      replies.push({ body: init!.body as string, headers: new Headers(init!.headers) });
      sent.resolve();
      await held.promise;
    }
    return await fetch(url, init);
  });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  const other = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const call = client.callTool(REFUND);
  await sent.promise;
  const [{ body, headers }] = replies as [(typeof replies)[number]];
  const forge = async (changes: Record<string, string>, text = body) => {
    const all = { ...Object.fromEntries(headers), ...changes };
    const response = await fetch(`${system.url}/agents/${system.agentId}/mcp`, {
      method: "POST",
      headers: all,
      body: text,
    });
    return response.status;
  };
  const context = Buffer.from(JSON.stringify({ user: "eve" })).toString("base64url");

  expect(await forge({ [ROLE]: "auditor" })).toBe(400);
  expect(await forge({ "x-patchbay-context": context })).toBe(400);
  expect(await forge({ authorization: "Bearer wrong" })).toBe(401);
  expect(await forge({}, JSON.stringify({ ...JSON.parse(body), id: crypto.randomUUID() }))).toBe(400);
  const approvals = await system.get(`/agents/${system.agentId}/approvals?status=pending`, {
    "x-api-key": other.apiKey,
  });
  expect(((await approvals.json()) as { items: unknown[] }).items).toHaveLength(1);

  held.resolve();
  expect(await call).toMatchObject({ content: [{ text: '{"refunded":3}' }] });
  expect(await forge({})).toBe(400);
});

test("only a client that can ask its user gets a session", async () => {
  await using system = await startApproving();
  const sessionOf = async (elicitation?: object) => {
    const capabilities = elicitation ? { elicitation } : {};
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
    const response = await system.post(
      `/agents/${system.agentId}/mcp`,
      { jsonrpc: "2.0", id: 1, method: "initialize", params },
      { accept: "application/json, text/event-stream" },
    );
    await response.text();
    return response.headers.get("mcp-session-id");
  };

  expect([await sessionOf(), await sessionOf({ url: {} })]).toEqual([null, null]);
  expect([await sessionOf({}), await sessionOf({ form: {}, url: {} })]).toEqual(
    Array(2).fill(expect.stringMatching(/^elicits-/)),
  );
});

test("a reply reaches the call at another replica", async ({ skip }) => {
  await using replicas = await REPLICAS["two replicas on Postgres and NATS"]({});
  if (!replicas) return skip("this machine has no NATS server");
  const [here, there] = replicas.planes;
  const { agentId, runtimeKey: key } = replicas;
  await using desk = await startDesk();
  const runtime = connect(desk.service, { url: here!.url, agentId, key, log: silentLog });
  await runtime.ready;
  const { apiKey } = await here!.admin.createKey({ agentId, can: ["approve"] });
  let moved = 0;
  await using client = await eliciting({ url: here!.url, agentId, apiKey }, (url, init) => {
    if (!isReply(init?.body)) return fetch(url, init);
    moved++;
    return fetch(`${there!.url}/agents/${agentId}/mcp`, init);
  });
  const actions = ["cancel", "accept"] as const;
  client.setRequestHandler("elicitation/create", () => ({ action: actions[moved]!, content: {} }));

  const dismissed = await client.callTool(REFUND);
  const confirmed = await client.callTool(REFUND);

  expect(moved).toBe(2);
  expect(dismissed._meta).toMatchObject({ "patchbay/code": "approval_required" });
  expect(confirmed).toMatchObject({ content: [{ text: '{"refunded":3}' }] });
  await runtime.stop({ drainMs: 0 });
});
