import { expect, test } from "vitest";
import { waiting, yes } from "./asking-runs.ts";
import { ending, event, openWorld, sampleRequest, sampleResult, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
export const URL = "https://hooks.example/patchbay";
export const CLAIM = { limit: 10, leaseMs: 10_000 };
export const failed = {
  delivered: false,
  status: 500,
  error: "The receiver answered 500.",
  durationMs: 3,
  retryInMs: 5_000,
};
export const sent = { delivered: true, status: 204, durationMs: 2, retryInMs: 0 };

export const addWebhook = ({ store, agentId, orgId }: World, change = {}) =>
  store.webhooks.set({ agentId, orgId, url: URL, secret: "secret-1", ...change });

/** Types and data of all deliveries, oldest first. */
async function reported({ store, agentId }: World) {
  const { items } = await store.webhooks.deliveries({ agentId, limit: 100 });
  return items.toReversed().map(({ type, data }) => ({ type, ...data }));
}

export const addTest = ({ store, agentId, orgId }: World) =>
  store.webhooks.add({ agentId, orgId }, { type: "webhook.test", data: {} });

export function webhookContract(place: MakePlace): void {
  configurationContract(place);
  eventContract(place);

  test("deliveries are deleted with the runs of their time, and pending ones are kept", async () => {
    await using world = await openWorld(place);
    await addWebhook(world);
    await addTest(world);
    const [claimed] = await world.store.webhooks.claim(world.agentId, CLAIM);
    await world.store.webhooks.settle(claimed!.delivery, sent);
    const waits = await addTest(world);
    world.clock.advance(31 * DAY_MS);
    const young = await addTest(world);

    await world.store.sweep({ days: 30 });

    const { items } = await world.store.webhooks.deliveries({ agentId: world.agentId, limit: 9 });
    expect(items.map(({ deliveryId }) => deliveryId)).toEqual([young, waits]);
  });
}

function configurationContract(place: MakePlace): void {
  test("a change of the address keeps the secret, which no record shows", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    expect(await webhooks.get(world.agentId)).toBeUndefined();

    expect(await addWebhook(world)).toEqual({ added: true });
    world.clock.advance(5);
    expect(await addWebhook(world, { url: "https://other.example", secret: "secret-2" })).toEqual({ added: false });

    const webhook = await webhooks.get(world.agentId);
    expect(webhook).toEqual({
      agentId: world.agentId,
      orgId: world.orgId,
      url: "https://other.example",
      hint: "…et-1",
      createdAt: world.clock.now() - 5,
      updatedAt: world.clock.now(),
    });
    expect(JSON.stringify(webhook)).not.toContain("secret-");
  });

  test("two secrets sign until the overlap of a rotation ends", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    await addTest(world);
    expect(await webhooks.rotate("agt_none", "x", 1)).toBe(false);
    const secretsNow = async () => {
      const [claimed] = await webhooks.claim(world.agentId, { limit: 1, leaseMs: 0 });
      return claimed?.secrets;
    };
    expect(await secretsNow()).toEqual(["secret-1"]);

    expect(await webhooks.rotate(world.agentId, "secret-2", 1_000)).toBe(true);

    expect(await webhooks.get(world.agentId)).toMatchObject({ previousUntil: world.clock.now() + 1_000 });
    expect(await secretsNow()).toEqual(["secret-2", "secret-1"]);
    world.clock.advance(1_000);
    expect(await secretsNow()).toEqual(["secret-2"]);
    await webhooks.rotate(world.agentId, "secret-3", 0);
    expect(await secretsNow()).toEqual(["secret-3"]);
  });

  test("the removal of a webhook or of its agent gives up what waits", async () => {
    await using world = await openWorld(place);
    const { webhooks, accounts } = world.store;
    for (const remove of [() => webhooks.remove(world.agentId), () => accounts.deleteAgent(world.agentId)]) {
      await addWebhook(world);
      const id = await addTest(world);

      expect(await remove()).toBe(true);

      expect(await webhooks.get(world.agentId)).toBeUndefined();
      expect(await webhooks.due([])).toEqual([]);
      const given = await webhooks.delivery(world.agentId, id!);
      expect(given).toMatchObject({ status: "failed", lastError: "The webhook was removed." });
      expect(given).not.toHaveProperty("nextAttemptAt");
      expect(await webhooks.sendAgain(world.agentId, id!)).toBe(false);
      expect(await addTest(world)).toBeUndefined();
    }
    expect(await webhooks.remove(world.agentId)).toBe(false);
  });

  test("an event that was stored while its webhook was removed is not sent to a later one", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    const id = await addTest(world);
    await webhooks.remove(world.agentId);
    await world.place.execute("update webhook_deliveries set status = 'pending', next_attempt_at = 0");
    await addWebhook(world);

    expect(await webhooks.due([])).toEqual([]);
    expect(await webhooks.delivery(world.agentId, id!)).toMatchObject({ status: "failed" });
  });
}

function eventContract(place: MakePlace): void {
  test("approvals are reported with ids and states, without arguments and reasons", async () => {
    await using world = await openWorld(place);
    await waiting(world, ["x"]);
    expect(await reported(world)).toEqual([]);
    await addWebhook(world);
    const run = await waiting(world, ["a", "b", "c"]);
    const of = (name: string) => ({
      runId: run.runId,
      threadId: run.threadId,
      approvalId: `apr_${name}`,
      toolName: "refund",
    });
    const { approvals } = world.store;
    await approvals.decide(world.agentId, "apr_a", { ...yes, reason: "fine" });
    await approvals.decide(world.agentId, "apr_a", { ...yes, approved: false });
    await approvals.decide(world.agentId, "apr_b", { ...yes, approved: false, reason: "no" });
    await approvals.close(run.runId, { cancel: true });
    await approvals.close(run.runId, { cancel: true });

    const asked = await approvals.get(world.agentId, "apr_a");
    const expiresAt = new Date(asked!.expiresAt).toISOString();
    expect(await reported(world)).toEqual([
      ...["a", "b", "c"].map((name) => ({ type: "approval.requested", ...of(name), by: [...asked!.by], expiresAt })),
      { type: "approval.decided", ...of("a"), decision: "approved" },
      { type: "approval.decided", ...of("b"), decision: "rejected" },
      { type: "approval.decided", ...of("c"), decision: "cancelled" },
    ]);
  });

  test("an expired approval is reported once", async () => {
    await using world = await openWorld(place);
    await addWebhook(world);
    const run = await waiting(world, ["a"]);
    world.clock.advance(DAY_MS);
    await world.store.approvals.close(run.runId);
    await world.store.approvals.close(run.runId);

    expect(await reported(world)).toMatchObject([
      { type: "approval.requested" },
      { type: "approval.decided", decision: "expired" },
    ]);
  });

  test("the end of a run is reported in its own commit, and only with a report", async () => {
    await using world = await openWorld(place);
    await addWebhook(world);
    const silent = await world.start();
    await world.finish(silent);
    const run = await world.start();
    const end = ending(run);
    const data = { runId: run.runId, threadId: run.threadId, status: "succeeded" as const };
    const finish = { ...end.finish!, report: { type: "run.ended" as const, data } };
    await expect(world.store.runs.commit({ ...run, fence: run.fence + 1 }, { ...end, finish })).rejects.toThrow(
      "another claim ended fence",
    );
    expect(await reported(world)).toEqual([]);

    await world.store.runs.commit(run, { ...end, finish });

    const other = world.newRun({ request: sampleRequest() });
    const result = { ...sampleResult(other, ""), success: false };
    const failure = { ...data, runId: other.runId, threadId: other.threadId, status: "failed" as const };
    await world.store.runs.refuse(other, {
      code: "insufficient_credits",
      event: event(1, "error"),
      result,
      report: { type: "run.ended", data: failure },
    });
    expect(await reported(world)).toEqual([
      { type: "run.ended", ...data },
      { type: "run.ended", ...failure },
    ]);
  });
}
