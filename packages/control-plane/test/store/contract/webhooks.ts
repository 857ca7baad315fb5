import { expect, test } from "vitest";
import { DELIVERY_ATTEMPTS, DELIVERY_MS } from "../../../src/ports/webhooks.ts";
import { waiting, yes } from "./asking-runs.ts";
import { ending, event, openWorld, sampleRequest, sampleResult, type MakePlace, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const URL = "https://hooks.example/patchbay";
const CLAIM = { limit: 10, leaseMs: 10_000 };
const failed = { delivered: false, status: 500, error: "The receiver answered 500.", durationMs: 3, retryInMs: 5_000 };
const sent = { delivered: true, status: 204, durationMs: 2, retryInMs: 0 };

const addWebhook = ({ store, agentId, orgId }: World, change = {}) =>
  store.webhooks.set({ agentId, orgId, url: URL, secret: "secret-1", ...change });

/** Types and data of all deliveries, oldest first. */
async function reported({ store, agentId }: World) {
  const { items } = await store.webhooks.deliveries({ agentId, limit: 100 });
  return items.toReversed().map(({ type, data }) => ({ type, ...data }));
}

const addTest = ({ store, agentId, orgId }: World) =>
  store.webhooks.add({ agentId, orgId }, { type: "webhook.test", data: {} });

export function webhookContract(place: MakePlace): void {
  configurationContract(place);
  eventContract(place);
  attemptContract(place);

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
      expect(await webhooks.due({ busy: [], after: "", limit: 9 })).toEqual([]);
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

    expect(await webhooks.due({ busy: [], after: "", limit: 9 })).toEqual([]);
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
      "no longer owned",
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

function attemptContract(place: MakePlace): void {
  test("two replicas claim each delivery once, until its lease ends", async () => {
    await using world = await openWorld(place);
    const stores = [world.store, await world.another()];
    await addWebhook(world);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push((await addTest(world))!);
    expect(await world.store.webhooks.due({ busy: [], after: "", limit: 9 })).toEqual([world.agentId]);
    expect(await world.store.webhooks.due({ busy: [world.agentId], after: "", limit: 9 })).toEqual([]);
    expect(await world.store.webhooks.due({ busy: [], after: world.agentId, limit: 9 })).toEqual([]);

    const claimed = await Promise.all(
      stores.flatMap(({ webhooks }) => [1, 2].map(() => webhooks.claim(world.agentId, { ...CLAIM, limit: 4 }))),
    );

    const taken = claimed.flat().map(({ delivery }) => delivery.deliveryId);
    expect(taken.toSorted()).toEqual(ids.toSorted());
    expect(await world.store.webhooks.due({ busy: [], after: "", limit: 9 })).toEqual([]);
    world.clock.advance(CLAIM.leaseMs);
    const again = await stores[1]!.webhooks.claim(world.agentId, CLAIM);
    expect(again.map(({ delivery }) => delivery.attempts)).toEqual([2, 2, 2, 2, 2, 2]);
    const [late] = claimed.flat();
    expect(await world.store.webhooks.settle(late!.delivery, sent)).toBeUndefined();
    expect(await world.store.webhooks.settle(again[0]!.delivery, sent)).toBe("delivered");
  });

  test("an attempt that failed is repeated after its pause, up to the limit", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    const id = await addTest(world);
    for (let attempt = 1; attempt <= DELIVERY_ATTEMPTS; attempt++) {
      const [claimed] = await webhooks.claim(world.agentId, CLAIM);
      expect(claimed).toMatchObject({
        url: URL,
        secrets: ["secret-1"],
        delivery: { deliveryId: id, attempts: attempt },
      });
      const status = await webhooks.settle(claimed!.delivery, failed);
      expect(status).toBe(attempt < DELIVERY_ATTEMPTS ? "pending" : "failed");
      world.clock.advance(failed.retryInMs - 1);
      expect(await webhooks.due({ busy: [], after: "", limit: 9 })).toEqual([]);
      world.clock.advance(1);
    }

    expect(await webhooks.claim(world.agentId, CLAIM)).toEqual([]);
    expect(await webhooks.delivery(world.agentId, id!)).toMatchObject({ status: "failed", lastStatus: 500 });
    expect(await webhooks.delivery("agt_2", id!)).toBeUndefined();
    expect(await webhooks.sendAgain("agt_2", id!)).toBe(false);
    expect(await webhooks.sendAgain(world.agentId, id!)).toBe(true);
    expect(await webhooks.sendAgain(world.agentId, id!)).toBe(false);
    const [again] = await webhooks.claim(world.agentId, CLAIM);
    expect(again).toMatchObject({ round: 1, delivery: { deliveryId: id, attempts: DELIVERY_ATTEMPTS + 1 } });
    expect(await webhooks.settle(again!.delivery, failed)).toBe("pending");
  });

  test("an attempt after the limit, which a crash left open, is the last", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    await addTest(world);
    const claim = () => webhooks.claim(world.agentId, { limit: 1, leaseMs: 0 });
    for (let attempt = 0; attempt < DELIVERY_ATTEMPTS; attempt++) expect(await claim()).toHaveLength(1);

    const [claimed] = await claim();

    expect(await webhooks.settle(claimed!.delivery, failed)).toBe("failed");
  });

  test("a delivery is given up when its next attempt would begin after a day", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    await addTest(world);
    world.clock.advance(DELIVERY_MS - failed.retryInMs);
    const [claimed] = await webhooks.claim(world.agentId, CLAIM);
    expect(await webhooks.settle(claimed!.delivery, failed)).toBe("pending");
    world.clock.advance(failed.retryInMs);
    const [last] = await webhooks.claim(world.agentId, CLAIM);
    expect(await webhooks.settle(last!.delivery, failed)).toBe("failed");
  });

  test("deliveries are listed newest first, by status, in pages", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    const [first, second, third] = [await addTest(world), await addTest(world), await addTest(world)];
    const [claimed] = await webhooks.claim(world.agentId, { ...CLAIM, limit: 1 });
    await webhooks.settle(claimed!.delivery, sent);
    const { agentId } = world;

    const page = await webhooks.deliveries({ agentId, limit: 2 });
    const rest = await webhooks.deliveries({ agentId, limit: 2, cursor: page.nextCursor! });

    expect([...page.items, ...rest.items].map(({ deliveryId }) => deliveryId)).toEqual([third, second, first]);
    expect(rest.nextCursor).toBeNull();
    const delivered = await webhooks.deliveries({ agentId, status: "delivered", limit: 9 });
    expect(delivered.items).toMatchObject([{ deliveryId: claimed!.delivery.deliveryId, lastStatus: 204 }]);
    await expect(webhooks.deliveries({ agentId, limit: 9, cursor: "x" })).rejects.toThrow("cursor");
  });
}
