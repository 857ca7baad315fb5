import { createHmac } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import type { Clock } from "@patchbay/engine/ports/clock";
import { type Log, silentLog } from "@patchbay/kit";
import type { Metrics } from "@patchbay/engine/ports/metrics";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { type OpenStore, openStore } from "@patchbay/store/open";
import { createNetworks } from "../../src/webhooks/networks.ts";
import { startSender } from "../../src/webhooks/sender.ts";
import { startReceiver } from "./receiver.ts";

interface Sending {
  named?: string[];
  clock?: Clock;
  log?: Log;
}

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

function senderOf(store: OpenStore, { named = ["127.0.0.1"], clock = systemClock, log = silentLog }: Sending = {}) {
  const outcomes: Outcome[] = [];
  let attempted = Promise.withResolvers<void>();
  const sender = startSender({
    webhooks: store.webhooks,
    networks: createNetworks(named),
    baseUrl: "https://patchbay.example",
    clock,
    log,
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

test("a delivery that is not sent for want of a file descriptor counts as no attempt", async () => {
  const { store, add } = await storeWith({ agt_1: "https://receiver.example/hook" });
  await add("agt_1");
  const settled = Promise.withResolvers<void>();
  const outcomes: Outcome[] = [];
  await using _sender = startSender({
    webhooks: {
      ...store.webhooks,
      settle: (...claim) =>
        store.webhooks.settle(...claim).finally(() => {
          settled.resolve();
        }),
    },
    networks: createNetworks([]),
    baseUrl: "https://patchbay.example",
    clock: systemClock,
    log: silentLog,
    metrics: { webhookAttempted: (outcome) => void outcomes.push(outcome) },
    resolve: () => Promise.reject(Object.assign(new Error("open EMFILE"), { code: "EMFILE" })),
  });

  await settled.promise;
  const { items } = await store.webhooks.deliveries({ agentId: "agt_1", limit: 1 });
  expect(items).toMatchObject([
    { status: "pending", attempts: 0, lastError: "Not sent: this process has no free file descriptor." },
  ]);
  expect(outcomes).toEqual([]);
});

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

/** Sleeps between polls are those of the system. Others end at once. */
const HASTY: Clock = {
  now: () => systemClock.now(),
  sleep: (ms, options) => (ms === 1_000 ? systemClock.sleep(ms, options) : Promise.resolve()),
};

test.each([
  [(url: string) => url, 500, "The receiver answered 500."],
  [(url: string) => url, 302, "The receiver answered 302. Redirects are not followed."],
  [(url: string) => url.replace(/:\d+/, ":9"), undefined, "The request failed: ECONNREFUSED."],
  [(url: string) => url.replace("http:", "https:"), undefined, "The request failed: "],
])(
  "members learn of no failure in a named network what it was, and the log has it (%#)",
  async (change, status, error) => {
    await using receiver = await startReceiver((response) => response.writeHead(status ?? 204).end());
    const { store, add } = await storeWith({ agt_1: change(receiver.url) });
    const id = await add("agt_1");
    const logged: object[] = [];
    const sleeps: number[] = [];
    const clock: Clock = { ...HASTY, sleep: (ms, options) => (sleeps.push(ms), HASTY.sleep(ms, options)) };
    const info: Log["info"] = (message, fields) => void logged.push({ message, ...fields });
    await using sender = senderOf(store, { clock, log: { ...silentLog, info } });

    expect(await sender.outcomes(1)).toEqual(["failed"]);

    const delivery = await store.webhooks.delivery("agt_1", id!);
    expect(delivery).toMatchObject({ status: "pending", attempts: 1, lastDurationMs: 5_000 });
    expect(delivery!.lastError).toMatch(/^The receiver in a network of the operator did not accept the delivery\./);
    expect(delivery).not.toHaveProperty("lastStatus");
    expect(delivery!.nextAttemptAt! - delivery!.lastAttemptAt!).toBeGreaterThan(2_000);
    // The end of an attempt is stored after its whole time, however soon it failed.
    expect(sleeps.find((ms) => ms !== 1_000)).toBeLessThanOrEqual(5_000);
    await vi.waitFor(() => expect(logged).toHaveLength(1));
    expect(logged).toMatchObject([
      { message: "webhook delivery failed", deliveryId: id, error: expect.stringContaining(error) },
    ]);
  },
);

test("a network of another organisation, or another port, is refused like one that was not named", async () => {
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_1: receiver.url });
  const [id] = [await add("agt_1")];
  await using sender = senderOf(store, { named: ["org_2=127.0.0.1", "127.0.0.1:9", "org_1=127.0.0.1:9"] });

  expect(await sender.outcomes(1)).toEqual(["failed"]);

  const { lastError } = (await store.webhooks.delivery("agt_1", id!))!;
  expect(lastError).toMatch(/in a private or reserved network that the operator has not allowed/);
  expect(receiver.got).toEqual([]);
});

test("a network that is named for the organisation and the port is sent to, and the duration is whole seconds", async () => {
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_1: receiver.url });
  const id = await add("agt_1");
  await using sender = senderOf(store, { named: [`org_1=127.0.0.1:9`, String(receiver.port)] });

  expect(await sender.outcomes(1)).toEqual(["delivered"]);

  const { lastDurationMs, lastStatus } = (await store.webhooks.delivery("agt_1", id!))!;
  expect([lastStatus, lastDurationMs! % 1_000]).toEqual([204, 0]);
});

test("an organisation with hundreds of slow receivers does not delay another one", async () => {
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
  await using silent = await startReceiver(() => {});
  await using receiver = await startReceiver();
  const { store, add } = await storeWith(
    Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`agt_a${i}`, silent.url])),
  );
  await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "sandbox" });
  await store.accounts.createAgent({ agentId: "agt_z", orgId: "org_2", name: "Other", instructions: "" });
  await store.webhooks.set({ agentId: "agt_z", orgId: "org_2", url: receiver.url, secret: "s" });
  for (let i = 0; i < 200; i++) await add(`agt_a${i}`);
  await using _sender = senderOf(store);
  await silent.received(96);

  await store.webhooks.add({ agentId: "agt_z", orgId: "org_2" }, { type: "webhook.test", data: {} });

  expect(await receiver.received(1)).toHaveLength(1);
  expect(silent.got).toHaveLength(96);
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

test("a delivery whose claim took so long that its lease may end during the attempt is not sent", async () => {
  await using receiver = await startReceiver();
  const { store, add } = await storeWith({ agt_1: receiver.url, agt_2: receiver.url });
  const ids = [await add("agt_1"), await add("agt_2")];
  let lateMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  const claim: typeof store.webhooks.claim = async (agentId, options) => {
    if (agentId === "agt_2") return [];
    const claimed = await store.webhooks.claim(agentId, options);
    lateMs += 7_000;
    return claimed;
  };
  const slow = { ...store, webhooks: { ...store.webhooks, claim } };
  {
    await using _sender = senderOf(slow);
    await vi.waitFor(() => expect(lateMs).toBe(7_000));
  }

  await using sender = senderOf(store);
  const [got] = await receiver.received(1);

  expect(await sender.outcomes(1)).toEqual(["delivered"]);
  expect(got!.headers["x-patchbay-delivery"]).toBe(ids[1]);
  expect(await store.webhooks.delivery("agt_1", ids[0]!)).toMatchObject({ status: "pending", attempts: 1 });
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
