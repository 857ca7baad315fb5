import { createHmac } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import type { Metrics } from "../../src/ports/metrics.ts";
import { systemClock } from "../../src/start/clocks.ts";
import { type OpenStore, openStore } from "../../src/store/open.ts";
import { createNetworks } from "../../src/webhooks/networks.ts";
import { pauseAfter, startSender } from "../../src/webhooks/sender.ts";
import { startReceiver } from "./receiver.ts";

type Outcome = Parameters<Metrics["webhookAttempted"]>[0];

const opened: OpenStore[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of opened.splice(0)) await store.close();
});

/** A store with an organisation, and for each agent a webhook that sends to its address. */
async function storeWith(urls: Record<string, string>) {
  const store = await openStore("sqlite::memory:");
  opened.push(store);
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
  for (const [agentId, url] of Object.entries(urls)) {
    await store.accounts.createAgent({ agentId, orgId: "org_1", name: agentId, instructions: "" });
    await store.webhooks.set({ agentId, orgId: "org_1", url, secret: `secret of ${agentId}` });
  }
  const add = (agentId: string) =>
    store.webhooks.add(
      { agentId, orgId: "org_1" },
      { type: "run.ended", data: { runId: "run_1", threadId: "thr_1", status: "succeeded" } },
    );
  return { store, add };
}

function senderOf(store: OpenStore, named: string[] = ["127.0.0.1"]) {
  const outcomes: Outcome[] = [];
  let attempted = Promise.withResolvers<void>();
  const sender = startSender({
    webhooks: store.webhooks,
    networks: createNetworks(named),
    baseUrl: "https://patchbay.example",
    clock: systemClock,
    log: silentLog,
    metrics: {
      webhookAttempted(outcome) {
        outcomes.push(outcome);
        attempted.resolve();
        attempted = Promise.withResolvers();
      },
    },
  });
  return {
    async outcomes(count: number): Promise<Outcome[]> {
      while (outcomes.length < count) await attempted.promise;
      return outcomes;
    },
    [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose](),
  };
}

test("a delivery has its id, its links and a signature over its time and body", async () => {
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_1: receiver.url });
  const id = await add("agt_1");
  await store.webhooks.rotate("agt_1", "new secret", 60_000);
  await using sender = senderOf(store);

  const [got] = await receiver.received(1);

  expect(await sender.outcomes(1)).toEqual(["delivered"]);
  const [, t, first, second] = /^t=(\d+),v1=(\w+),v1=(\w+)$/.exec(String(got!.headers["x-patchbay-signature"]))!;
  const hmac = (secret: string) => createHmac("sha256", secret).update(`${t}.${got!.body}`).digest("hex");
  expect([first, second]).toEqual([hmac("new secret"), hmac("secret of agt_1")]);
  expect(got!.headers).toMatchObject({ "x-patchbay-delivery": id, "content-type": "application/json" });
  const { createdAt, ...event } = JSON.parse(got!.body) as Record<string, unknown>;
  expect(createdAt).toMatch(/^\d{4}-.*Z$/);
  expect(event).toEqual({
    id,
    type: "run.ended",
    agentId: "agt_1",
    data: { runId: "run_1", threadId: "thr_1", status: "succeeded" },
    links: {
      run: "https://patchbay.example/agents/agt_1/runs/run_1",
      console: "https://patchbay.example/console/agents/agt_1/runs/run_1",
    },
  });
  expect(await store.webhooks.delivery("agt_1", id!)).toMatchObject({
    status: "delivered",
    attempts: 1,
    lastStatus: 204,
  });
});

test.each([
  [(url: string) => url, 500, "The receiver answered 500."],
  [(url: string) => url, 302, "The receiver answered 302. Redirects are not followed."],
  [(url: string) => url.replace("127.0.0.1", "10.0.0.1"), undefined, "private or reserved network"],
  [(url: string) => url.replace(/:\d+/, ":9"), undefined, "The request failed: ECONNREFUSED."],
])("a delivery that fails waits for its next attempt with the reason (%#)", async (change, status, error) => {
  await using receiver = await startReceiver((response) => response.writeHead(status ?? 204).end());
  const { store, add } = await storeWith({ agt_1: change(receiver.url) });
  const id = await add("agt_1");
  await using sender = senderOf(store);

  expect(await sender.outcomes(1)).toEqual(["failed"]);

  const delivery = await store.webhooks.delivery("agt_1", id!);
  expect(delivery).toMatchObject({
    status: "pending",
    attempts: 1,
    lastError: expect.stringContaining(error) as string,
  });
  expect(delivery?.lastStatus).toBe(status);
  expect(delivery!.nextAttemptAt! - delivery!.lastAttemptAt!).toBeGreaterThan(2_000);
});

test("a receiver that does not answer delays no other, and its attempt is repeated after a stop", async () => {
  // No attempt reaches its time limit, which a slow machine could pass before the stop.
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
  await using silent = await startReceiver(() => {});
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_a: silent.url, agt_b: receiver.url });
  const waits = [];
  for (let i = 0; i < 6; i++) waits.push(await add("agt_a"));
  await using sender = senderOf(store);
  await silent.received(4);

  const id = await add("agt_b");
  expect((await receiver.received(1))[0]?.headers["x-patchbay-delivery"]).toBe(id);
  await sender.outcomes(1);
  await sender[Symbol.asyncDispose]();

  expect(silent.got).toHaveLength(4);
  const left = await Promise.all(waits.map((one) => store.webhooks.delivery("agt_a", one!)));
  expect(left.map((one) => [one?.status, one?.attempts])).toEqual(
    [1, 1, 1, 1, 0, 0].map((attempts) => ["pending", attempts]),
  );
  for (const one of left.slice(0, 4)) expect(one).not.toHaveProperty("lastError");
});

test("a backlog is sent in full, each delivery once, by two senders", async () => {
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_1: receiver.url });
  const ids: string[] = [];
  for (let i = 0; i < 30; i++) ids.push((await add("agt_1"))!);
  await using _first = senderOf(store);
  await using _second = senderOf(store);

  const got = await receiver.received(30);

  expect(got.map(({ headers }) => String(headers["x-patchbay-delivery"])).toSorted()).toEqual(ids.toSorted());
});

test("pauses grow from seconds to hours and are of random length", () => {
  for (const [round, longest] of [
    [1, 5_000],
    [2, 15_000],
    [5, 405_000],
    [12, 14_400_000],
  ] as const) {
    const pauses = Array.from({ length: 50 }, () => pauseAfter(round));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(longest);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(longest / 2);
    expect(new Set(pauses).size).toBeGreaterThan(1);
  }
});
