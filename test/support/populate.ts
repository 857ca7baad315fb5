import { openStore } from "@patchbay/control-plane/admin";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { z } from "zod";
import { type Script, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const input = z.object({ id: z.string() });
const desk = defineService({
  name: "desk",
  roles: ["clerk", "manager"],
  functions: [
    defineFunction({
      name: "read_order",
      description: "Reads an order.",
      input,
      roles: everyone,
      effect: "read",
      handler: ({ id }) => ({ id }),
    }),
    defineFunction({
      name: "close_desk",
      description: "Closes the desk.",
      input,
      roles: ["manager"],
      handler: () => ({}),
    }),
    defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input,
      roles: ["clerk"],
      approval: { by: ["manager"] },
      handler: ({ id }) => ({ refunded: id }),
    }),
  ],
});

const call = (name: string) => ({ name, arguments: { id: "o1" } });

/**
 * Fills an empty database through the product, in a charged organisation with a webhook: runs that are answered, refused a function,
 * approved, rejected, failed and retried, reported to the webhook, and one that waits for an approval. The runs are indexed, and the
 * audit log is sealed.
 */
export async function populate(url: string): Promise<void> {
  let isDown = true;
  const script: Script = ({ query, step }) => {
    if (query.includes("Refund") && step === 0) return { calls: [call("refund")] };
    if (query.includes("Fail") && step === 1 && isDown) return { error: { status: 401 } };
    return step === 0 ? { calls: [call("read_order"), call("close_desk")] } : { text: "Done." };
  };
  await using standIn = await startStandIn("anthropic", script);
  const system = await startSystem({ database: url, tier: "starter", service: desk, providers: standIn.config });
  try {
    await ask(system, () => (isDown = false));
  } finally {
    await system[Symbol.asyncDispose]();
  }
  const store = await openStore(url);
  await store.index.record();
  await store.audit.seal({ settleMs: 0 });
  await store.close();
}

async function ask(
  { agentId, orgId, plane, post, get, query }: Awaited<ReturnType<typeof startSystem>>,
  recover: () => void,
): Promise<void> {
  await plane.admin.grant(orgId, "10");
  await plane.admin.setWebhook(agentId, "https://receiver.example/");
  const approver = await plane.admin.createKey({ agentId, can: ["approve"] });
  const role = { role: "clerk" };
  const wait = { prefer: "wait=60" };
  /** Posts a query, or a retry, that is answered before its run ends, and waits for the end. */
  const follow = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const { runId } = (await (await post(`/agents/${agentId}/${path}`, body, headers)).json()) as { runId: string };
    await get(`/agents/${agentId}/runs/${runId}`, wait);
  };

  const { threadId } = await query("Read", role);
  await query("Read again", { ...role, threadId });
  for (const approved of [true, false]) {
    const key = { "idempotency-key": `refund ${approved}` };
    const { approvals = [] } = await query("Refund", role, key);
    const decision = `/agents/${agentId}/approvals/${approvals[0]!.approvalId}/decision`;
    await post(decision, { approved, as: "manager" }, { "x-api-key": approver.apiKey });
    await query("Refund", role, { ...key, ...wait });
  }
  const failed = await query("Fail", role);
  recover();
  await follow(`runs/${failed.runId}/retry`, {});
  for (const text of ["Read", "Read on"]) await follow("query", { query: text, ...role }, { prefer: "respond-async" });
  await query("Refund", role);
}
