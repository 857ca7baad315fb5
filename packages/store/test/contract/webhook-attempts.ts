import { expect, test } from "vitest";
import { DELIVERY_ATTEMPTS, DELIVERY_MS } from "@patchbay/engine/ports/store/webhooks";
import { addTest, addWebhook, CLAIM, failed, sent, URL } from "./webhooks.ts";
import { openWorld, type MakePlace } from "./world.ts";

/** Claims of due deliveries, and how their attempts end. */
export function webhookAttemptContract(place: MakePlace): void {
  test("two replicas claim each delivery once, until its lease ends", async () => {
    await using world = await openWorld(place);
    const stores = [world.store, await world.another()];
    await addWebhook(world);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push((await addTest(world))!);
    expect(await world.store.webhooks.due([])).toEqual([{ orgId: world.orgId, agentId: world.agentId }]);
    expect(await world.store.webhooks.due([world.agentId])).toEqual([]);

    const claimed = await Promise.all(
      stores.flatMap(({ webhooks }) => [1, 2].map(() => webhooks.claim(world.agentId, { ...CLAIM, limit: 4 }))),
    );

    const taken = claimed.flat().map(({ delivery }) => delivery.deliveryId);
    expect(taken.toSorted()).toEqual(ids.toSorted());
    expect(await world.store.webhooks.due([])).toEqual([]);
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
      expect(await webhooks.due([])).toEqual([]);
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

  test("a delivery is given up when its next attempt would begin after a day of attempts", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    await addTest(world);
    const retryInMs = DELIVERY_MS / 2;
    const attempt = async () =>
      webhooks.settle((await webhooks.claim(world.agentId, CLAIM))[0]!.delivery, { ...failed, retryInMs });
    expect(await attempt()).toBe("pending");
    world.clock.advance(retryInMs);
    expect(await attempt()).toBe("pending");
    world.clock.advance(retryInMs);
    expect(await attempt()).toBe("failed");
  });

  test("an outage of days takes no time from a delivery, whether it waited, was repeated or was being sent", async () => {
    await using world = await openWorld(place);
    const { webhooks } = world.store;
    await addWebhook(world);
    await addTest(world);
    const claim = async () => (await webhooks.claim(world.agentId, CLAIM))[0]!.delivery;
    for (let outage = 0; outage < 2; outage++) {
      world.clock.advance(3 * DELIVERY_MS);
      expect(await webhooks.settle(await claim(), failed)).toBe("pending");
      world.clock.advance(failed.retryInMs);
      expect(await webhooks.settle(await claim(), failed)).toBe("pending");
    }
    world.clock.advance(failed.retryInMs);
    await claim();
    world.clock.advance(3 * DELIVERY_MS);

    expect(await webhooks.settle(await claim(), failed)).toBe("pending");
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
