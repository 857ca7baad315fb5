import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Era, mcpClient } from "@patchbay/test-support/mcp-client";
import { startApproving } from "../support/mcp-desk.ts";

const ERAS = ["2025", "2026"] as const satisfies readonly Era[];

const ELICITS = { capabilities: { elicitation: { form: {} } } };
const role = (name: string) => ({ headers: { "x-patchbay-role": name } });
const callOf = (name: string, input: Record<string, unknown> = {}) => ({ name, arguments: input });
const approvalOf = ({ _meta }: { _meta?: Record<string, unknown> | undefined }) => _meta?.["patchbay/approvalId"];

/** A client with a client token of the manager. */
async function pageOf(
  system: Awaited<ReturnType<typeof startApproving>>,
  { client, ...fixed }: { context?: object; client?: typeof ELICITS } = {},
) {
  const body = { role: "manager", allow: ["mcp"], expiresInSeconds: 600, ...fixed };
  const made = await system.post(`/agents/${system.agentId}/client-tokens`, body, { "x-api-key": system.apiKey });
  const { token } = (await made.json()) as { token: string };
  return await mcpClient({ ...system, apiKey: token }, client ? { client } : {});
}

test("callers with other keys, tokens and contexts share no waiting call", async () => {
  await using system = await startApproving();
  const { apiKey: other } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const context = { customerId: "c_1" };
  const inHeader = { "x-patchbay-context": Buffer.from(JSON.stringify(context)).toString("base64url") };
  const clients = [
    await mcpClient(system, role("manager")),
    await mcpClient({ ...system, apiKey: other }, role("manager")),
    await mcpClient(system, { headers: { ...role("manager").headers, ...inHeader } }),
    await pageOf(system),
    await pageOf(system, { context }),
  ];
  const call = callOf("refund", { amount: 3 });
  const asked: unknown[] = [];
  for (const client of clients) asked.push(approvalOf(await client.callTool(call)));

  expect(new Set(asked).size).toBe(clients.length);
  for (const [at, client] of clients.entries()) {
    expect(approvalOf(await client.callTool(call))).toBe(asked[at]);
    await client.close();
  }
  await using again = await pageOf(system, { context });
  expect(approvalOf(await again.callTool(call))).toBe(asked[4]);
});

test("a client token answers its own questions only, and none of a call that its user was not asked about", async () => {
  await using system = await startApproving();
  const asks = { client: { ...ELICITS, inputRequired: { autoFulfill: false } } };
  await using ada = await pageOf(system, { context: { user: "ada" }, ...asks });
  await using eve = await pageOf(system, { context: { user: "eve" }, ...asks });
  const call = (client: typeof ada, more: object = {}) =>
    client.request(
      { method: "tools/call", params: { ...callOf("refund", { amount: 3 }), ...more } },
      { allowInputRequired: true },
    );
  const accept = { action: "accept", content: {} };
  const question = (await call(ada)) as unknown as { requestState: string; inputRequests: Record<string, unknown> };
  const [approvalId] = Object.keys(question.inputRequests) as [string];
  const reply = { requestState: question.requestState, inputResponses: { [approvalId]: accept } };

  await expect(call(eve, reply)).rejects.toMatchObject({ code: -32602 });
  // Without the state it is another call, whose question was not asked yet.
  expect(await call(ada, { inputResponses: { [approvalId]: accept } })).toMatchObject({ resultType: "input_required" });
  await expect(
    ada.request(
      { method: "tools/call", params: { ...callOf("refund", { amount: 4 }), ...reply } },
      { allowInputRequired: true },
    ),
  ).rejects.toMatchObject({ code: -32602 });

  expect(await call(ada, reply)).toMatchObject({ content: [{ text: '{"refunded":3}' }] });
  await expect(call(ada, reply)).rejects.toMatchObject({ code: -32602 });
});

test("a reply to an approval that the client's user was not asked about decides nothing", async () => {
  await using system = await startApproving();
  await using plain = await mcpClient(system, role("manager"));
  const manual = { ...ELICITS, inputRequired: { autoFulfill: false } };
  await using client = await mcpClient(system, { ...role("manager"), client: manual });
  const call = callOf("refund", { amount: 3 });
  const approvalId = String(approvalOf(await plain.callTool(call)));
  const params = { ...call, inputResponses: { [approvalId]: { action: "accept", content: {} } } };

  const answer = await client.request({ method: "tools/call", params }, { allowInputRequired: true });

  expect(answer).toMatchObject({ resultType: "input_required", inputRequests: { [approvalId]: {} } });
});

test.each(ERAS)("equal calls of %s at the same time are decided and run one by one", async (era) => {
  await using system = await startApproving();
  await using client = await mcpClient(system, { era, ...role("manager"), client: ELICITS });
  const asked: (() => void)[] = [];
  client.setRequestHandler("elicitation/create", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    asked.push(resolve);
    const action = asked.length === 1 ? "decline" : "accept";
    if (asked.length === 3) for (const answer of asked) answer();
    await promise;
    return { action, content: {} };
  });

  const results = await Promise.all(Array.from({ length: 3 }, () => client.callTool(callOf("refund", { amount: 3 }))));

  const codes = results.map(({ _meta }) => _meta?.["patchbay/code"]);
  expect(codes.filter((code) => code === undefined)).toHaveLength(2);
  expect(codes).toContain("rejected");
  expect(new Set(results.map(({ _meta }) => _meta?.["patchbay/runId"])).size).toBe(3);
});

test("equal calls at the same time whose approval depends on the arguments are runs of their own", async () => {
  await using system = await startApproving();
  let started = 0;
  const both = Promise.withResolvers<void>();
  await system.connect(
    defineService({
      name: "shop",
      functions: [
        defineFunction({
          name: "discount",
          description: "Gives a discount.",
          input: z.object({ percent: z.number() }),
          roles: ["manager"],
          effect: "write",
          approval: { by: ["caller"], when: ({ input: { percent } }) => percent > 10 },
          handler: async ({ percent }) => {
            if (++started === 2) both.resolve();
            await both.promise;
            return percent;
          },
        }),
      ],
    }),
  );
  await using client = await mcpClient(system, role("manager"));

  const results = await Promise.all([1, 2].map(() => client.callTool(callOf("discount", { percent: 5 }))));

  expect(results).toMatchObject([{ content: [{ text: "5" }] }, { content: [{ text: "5" }] }]);
});

test.each(ERAS)("the end of the connection of a client of %s cancels a call that it made again", async (era) => {
  await using system = await startApproving();
  const stopped = Promise.withResolvers<void>();
  await system.connect(
    defineService({
      name: "yard",
      functions: [
        defineFunction({
          name: "dig",
          description: "Digs until it is stopped.",
          input: z.object({}),
          roles: ["manager"],
          effect: "write",
          approval: { by: ["caller"] },
          handler: async (_input, { signal, progress }) => {
            while (!signal.aborted) {
              progress("digs");
              await new Promise((resolve) => setTimeout(resolve, 5));
            }
            stopped.resolve();
            return null;
          },
        }),
      ],
    }),
  );
  await using client = await mcpClient(system, { era, ...role("manager") });
  const path = `/agents/${system.agentId}/approvals/${String(approvalOf(await client.callTool(callOf("dig"))))}/decision`;
  await system.post(path, { approved: true, as: "manager" }, { "x-api-key": system.apiKey });
  const gone = new AbortController();
  const joined = Promise.withResolvers<void>();
  const again = client
    .callTool(callOf("dig"), { signal: gone.signal, onprogress: () => joined.resolve() })
    .catch((error: unknown) => error);
  await joined.promise;

  gone.abort();
  await client.close();

  await again;
  await stopped.promise;
  // The time limit of the function would stop the handler too.
  const statuses = async () =>
    (await system.plane.store.runs.list(system.agentId, { limit: 9 })).map(({ status }) => status);
  await expect.poll(statuses).toEqual(["cancelled"]);
});
