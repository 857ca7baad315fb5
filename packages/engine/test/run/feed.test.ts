import { expect, test, vi } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { openStore } from "@patchbay/store/open";
import { createFeed, type Feed, type FeedMessage } from "../../src/run/follow/feed.ts";
import { createBusHub, type Fate } from "../../../gateway/test/bus-hub.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const END = { seq: 9, body: '{"type":"finalResponse"}' };
const DELTA = { type: "responseDelta", content: "x" } as const;
const event = (seq: number) => ({ seq, body: `{"type":"thought","content":"${seq}"}` });

/** The feeds of two replicas, and what a follower at the second one receives. */
function twoReplicas() {
  const hub = createBusHub();
  const here = createFeed(hub.join("a"));
  const there = createFeed(hub.join("b"));
  return { hub, here, there };
}

function follower(feed: Feed, { live = true } = {}) {
  const messages: FeedMessage[] = [];
  const subscription = feed.subscribe("r", (message) => void messages.push(message), { live });
  const seqs = () => messages.flatMap((message) => ("stored" in message ? message.stored.map(({ seq }) => seq) : []));
  return { messages, seqs, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}

/** Resolves when all messages that were sent before have been delivered. */
const delivered = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test("a query that is followed on the replica of its run sends nothing to other replicas", async () => {
  const hub = createBusHub();
  await using store = Object.assign(await openStore("sqlite::memory:"), {
    [Symbol.asyncDispose]: () => store.close(),
  });
  const { gateway } = fakeGateway(manifestOf({ pay: "everyone" }), () => ok("paid"));
  const model = scriptedModel([{ calls: [["pay", {}]] }, { text: "It is paid." }]);
  await using other = await startCore({ models: model.catalog, gateway, store, owner: "b", bus: hub.join("b") });
  const bus = hub.join("a");
  await using core = await startCore({ models: model.catalog, gateway, store, owner: "a", bus });
  const subscribe = vi.spyOn(bus, "subscribe");

  const run = await core.start("Pay");
  const types: string[] = [];
  for await (const { body } of core.follow(run)) types.push((JSON.parse(body) as { type: string }).type);
  await delivered();

  expect(types).toContain("toolCall");
  expect(types.at(-1)).toBe("finalResponse");
  expect(hub.carried).toEqual([]);
  expect(subscribe).not.toHaveBeenCalled();
  // The hub does carry what a follower at another replica needs.
  expect(await other.result(run)).toMatchObject({ response: "It is paid." });
  expect(hub.carried).not.toEqual([]);
});

test("live events reach a follower on the replica of the run without the bus", async () => {
  const { hub, here } = twoReplicas();
  using _owned = here.own("r", 0, { begun: true });
  using one = follower(here);
  using other = follower(here, { live: false });

  here.publishLive("r", DELTA);
  here.publishStored("r", [event(1)]);
  await delivered();

  expect(one.messages).toEqual([{ live: JSON.stringify(DELTA) }, { stored: [event(1)] }]);
  expect(other.messages).toEqual([{ stored: [event(1)] }]);
  expect(hub.carried).toEqual([]);
});

test("a status reaches followers without live events, and is the number of the last stored event for replicas of earlier versions", async () => {
  const { here, there } = twoReplicas();
  using _owned = here.own("r", 4, { begun: false });
  using local = follower(here, { live: false });
  using peer = follower(there, { live: false });
  const status = { type: "modelStatus", state: "silent", attempt: 1 } as const;

  here.publishLive("r", status);
  await until(() => peer.messages.length > 0, "messages of the peer");

  const message = { upTo: 4, status: JSON.stringify(status) };
  expect(local.messages).toEqual([message]);
  expect(peer.messages).toContainEqual(message);
});

test("a follower at another replica learns of the events that it may have missed, and receives the later ones", async () => {
  const { here, there } = twoReplicas();
  using _owned = here.own("r", 0, { begun: true });
  here.publishStored("r", [event(1)]);
  using peer = follower(there);
  here.publishStored("r", [event(2)]);
  await until(() => peer.messages.length === 1, "messages of the peer");
  here.publishStored("r", [event(3)]);
  here.publishLive("r", DELTA);
  await until(() => peer.messages.length === 3, "messages of the peer");

  expect(peer.messages).toEqual([{ upTo: 2 }, { stored: [event(3)] }, { live: JSON.stringify(DELTA) }]);
});

test("a follower that was announced before its run began receives the run's events", async () => {
  const { here, there } = twoReplicas();
  using peer = follower(there);
  await delivered();
  using _owned = here.own("r", 0, { begun: true });
  here.publishStored("r", [event(1)]);

  await until(() => peer.seqs().length === 1, "stored events");
});

test("a follower whose announcement was lost is announced again", async () => {
  const { hub, here, there } = twoReplicas();
  let fate: Fate = "drop";
  hub.fate = () => fate;
  using _owned = here.own("r", 0, { begun: true });
  using peer = follower(there);
  await delivered();
  here.publishStored("r", [event(1)]);
  await delivered();
  expect(peer.messages).toEqual([]);

  fate = "pass";
  there.announce(["r", "unknown"]);
  await until(() => peer.messages.length === 1, "messages of the peer");
  here.publishStored("r", [event(2)]);
  await until(() => peer.seqs().length === 1, "stored events");

  expect(peer.messages).toEqual([{ upTo: 1 }, { stored: [event(2)] }]);
});

test("followers continue at the next owner of their run, here or at another replica", async () => {
  const { here, there } = twoReplicas();
  const owned = here.own("r", 0, { begun: true });
  using one = follower(here);
  here.publishStored("r", [event(1)]);
  owned[Symbol.dispose]();
  // Its next owner may have stored events already.
  expect(one.messages.at(-1)).toEqual({ upTo: Infinity });

  const claimed = there.own("r", 1, { begun: false });
  there.publishStored("r", [event(2)]);
  await until(() => one.seqs().length === 2, "stored events");
  claimed[Symbol.dispose]();

  using _again = here.own("r", 2, { begun: false });
  expect(one.messages.at(-1)).toEqual({ upTo: 2 });
  here.publishStored("r", [event(3)]);
  await delivered();

  expect(one.seqs()).toEqual([1, 2, 3]);
});

test("a follower that is still reading when its run has ended uses no bus", async () => {
  const { hub, here } = twoReplicas();
  const owned = here.own("r", 0, { begun: true });
  using one = follower(here);
  here.publishStored("r", [END]);
  owned[Symbol.dispose]();
  await delivered();

  expect(one.messages).toEqual([{ stored: [END] }]);
  expect(hub.carried).toEqual([]);
});
