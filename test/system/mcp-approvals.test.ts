import { expect, test } from "vitest";
import { callsOnce } from "../support/call-models.ts";
import { startIssuer } from "@patchbay/test-support/issuer";
import { type Era, mcpClient } from "@patchbay/test-support/mcp-client";
import { startApproving } from "../support/mcp-desk.ts";

const ERAS = ["2025", "2026"] as const satisfies readonly Era[];

const ELICITS = { capabilities: { elicitation: { form: {} } } };
const role = (name: string) => ({ headers: { "x-patchbay-role": name } });
const callOf = (name: string, input: Record<string, unknown> = {}) => ({ name, arguments: input });
const approvalOf = ({ _meta }: { _meta?: Record<string, unknown> | undefined }) => _meta?.["patchbay/approvalId"];

test("the client's user confirms a call that the caller may confirm", async () => {
  await using system = await startApproving();
  const asked: string[] = [];
  const answers = ["decline", "accept"] as const;
  await using client = await mcpClient(system, { ...role("manager"), client: ELICITS });
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: answers[asked.length - 1]!, content: {} };
  });

  const refused = await client.callTool(callOf("refund", { amount: 3 }));
  const refunded = await client.callTool(callOf("refund", { amount: 3 }));

  expect(asked).toEqual(Array(2).fill('Allow refund({"amount":3})?'));
  expect(refused).toMatchObject({ isError: true, _meta: { "patchbay/code": "rejected" } });
  expect(refunded).toMatchObject({ content: [{ type: "text", text: '{"refunded":3}' }] });
});

test.each(ERAS)(
  "a call that waits names its approval to a client of %s, which then gets the result once",
  async (era) => {
    await using system = await startApproving();
    const { apiKey } = system;
    await using client = await mcpClient(system, { era, ...role("manager") });
    const call = () => client.callTool(callOf("refund", { amount: 3 }));
    const waits = await call();
    const approvalId = String(waits._meta?.["patchbay/approvalId"]);
    expect(waits).toMatchObject({ isError: true, _meta: { "patchbay/code": "approval_required" } });
    expect(waits.content).toMatchObject([
      { text: expect.stringContaining(`/console/approvals?approval=${approvalId}`) },
    ]);
    expect((await call())._meta?.["patchbay/approvalId"]).toBe(approvalId);

    const decided = await system.post(
      `/agents/${system.agentId}/approvals/${approvalId}/decision`,
      { approved: true, as: "manager" },
      { "x-api-key": apiKey },
    );

    expect(decided.status).toBe(200);
    expect(await call()).toMatchObject({ content: [{ text: '{"refunded":3}' }] });
    expect((await call())._meta?.["patchbay/approvalId"]).not.toBe(approvalId);
  },
);

test("a proven caller neither joins nor decides the waiting call of another one", async () => {
  await using issuer = await startIssuer();
  const callers = { issuer: issuer.url, audience: issuer.audience, roleClaim: "role", contextClaims: ["sub=userId"] };
  await using system = await startApproving({ callers });
  const clientOf = async (sub: string) => {
    const token = await issuer.token({ sub, role: "manager" });
    return await mcpClient(system, { headers: { ...role("manager").headers, "x-patchbay-caller": token } });
  };
  await using ada = await clientOf("ada");
  await using eve = await clientOf("eve");
  const call = callOf("refund", { amount: 3 });

  const asked = approvalOf(await ada.callTool(call));
  const other = approvalOf(await eve.callTool(call));

  expect(asked).toEqual(expect.any(String));
  expect(other).toEqual(expect.any(String));
  expect(other).not.toBe(asked);
  expect(approvalOf(await ada.callTool(call))).toBe(asked);
});

test("a query to the agent that waits names its run, and asks the client's user nothing", async () => {
  await using system = await startApproving({ model: callsOnce("refund", { amount: 3 }) });
  await using client = await mcpClient(system, { expose: "agent", ...role("manager"), client: ELICITS });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));

  const waits = await client.callTool(callOf("ask_desk", { query: "Refund 3" }));

  expect(waits).toMatchObject({
    isError: true,
    _meta: {
      "patchbay/code": "approval_required",
      "patchbay/approvalId": expect.stringMatching(/^apr_/),
      "patchbay/runId": expect.stringMatching(/^run_/),
      "patchbay/threadId": expect.stringMatching(/^thr_/),
    },
    content: [{ text: expect.stringContaining("Do not call again") }],
  });
  const runs = await system.plane.store.runs.list(system.agentId, { limit: 9 });
  expect(runs).toMatchObject([{ runId: waits._meta?.["patchbay/runId"], status: "waiting" }]);
});

test("a call whose first run was cancelled begins another one", async () => {
  await using system = await startApproving();
  await using client = await mcpClient(system, role("manager"));
  const call = () => client.callTool(callOf("refund", { amount: 3 }));
  const first = approvalOf(await call());
  const { items } = (await (
    await system.get(`/agents/${system.agentId}/approvals`, { "x-api-key": system.apiKey })
  ).json()) as {
    items: { runId: string }[];
  };

  const cancelled = await system.post(`/agents/${system.agentId}/runs/${items[0]?.runId}/cancel`, {});
  await expect
    .poll(async () => (await system.plane.store.runs.list(system.agentId, { limit: 9 }))[0]?.status)
    .toBe("cancelled");

  expect(cancelled.status).toBe(202);
  const again = await call();
  expect(again._meta?.["patchbay/code"]).toBe("approval_required");
  expect(approvalOf(again)).not.toBe(first);
});

test("a caller that may not decide on its own call learns where to", async () => {
  await using system = await startApproving();
  await using client = await mcpClient(system, { ...role("auditor"), client: ELICITS });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));

  expect(await client.callTool(callOf("close_books"))).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "approval_required" },
    content: [{ text: expect.stringContaining("/console/approvals?approval=") }],
  });
});
