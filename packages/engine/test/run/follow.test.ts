import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { Bus } from "../../src/ports/bus.ts";
import { silentLog } from "../../src/ports/log.ts";
import { type RunStore, type StoredEvent, StoreUnavailable } from "../../src/ports/store/run-store.ts";
import { eachOf, type Followed } from "../../src/run/api.ts";
import { createFeed, type FeedMessage } from "../../src/run/follow/feed.ts";
import { createLogPoller, follow, type FollowContext, joining } from "../../src/run/follow/follow.ts";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { WAIT_MS } from "@patchbay/test-support/patience";
import { startScripted } from "./core.ts";

const orDraining = joining(new AbortController().signal);
const quiet = { poller: { add: () => ({ [Symbol.dispose]() {} }) }, orDraining };
const DONE = { type: "finalResponse", response: "done" };

/** A log that grows, and the feed that publishes its events. */
function growingLog() {
  const log: StoredEvent[] = [];
  const feed = createFeed(createMemoryBus());
  let reads = 0;
  const runs: FollowContext["runs"] = {
    heads: async () => [],
    async events(_, after, limit) {
      reads++;
      return log.filter((event) => event.seq > after).slice(0, limit);
    },
  };
  function append(...bodies: object[]): void {
    for (const body of bodies) {
      const event = { seq: log.length + 1, body: JSON.stringify(body) };
      log.push(event);
      feed.publishStored("r", [event]);
    }
  }
  const reader = (
    { after = 0, deltas = false, signal = AbortSignal.timeout(WAIT_MS) } = {},
    context: Partial<FollowContext> = {},
  ) => eachOf(follow({ runId: "r" }, { after, deltas, signal }, { runs, feed, ...quiet, ...context }));
  return { runs, feed, append, log, reads: () => reads, reader, seqs: () => log.map(({ seq }) => seq) };
}

const thought = (content: string) => ({ type: "thought", content });

async function collect(events: AsyncIterable<Followed>): Promise<Followed[]> {
  const collected: Followed[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

const idsOf = async (events: AsyncIterable<Followed>) => (await collect(events)).map(({ id }) => id);

test("a reader that lags behind megabytes of events gets each of them once, in order", async () => {
  const { feed, append, reader, seqs } = growingLog();
  const stream = reader({ deltas: true });
  append(thought("first"));
  expect((await stream.next()).value).toMatchObject({ id: 1 });

  // Far more than the reader's inbox holds.
  for (let i = 0; i < 500; i++) {
    append(thought("x".repeat(5_000)));
    feed.publishLive("r", { type: "responseDelta", content: "lost when behind" });
  }
  append({ type: "error", errorMessage: "end" });

  const ids = (await idsOf(stream)).filter((id) => id !== undefined);
  expect([1, ...ids]).toEqual(seqs());
});

test("an event that is larger than an inbox reaches a reader without a read of the log", async () => {
  const { feed, append, log, reads, reader } = growingLog();
  using _owned = feed.own("r", 0, { begun: true });
  const first = reader({ deltas: true }).next();

  append({ type: "finalResponse", response: "x".repeat(3_000_000) });

  expect((await first).value).toEqual({ id: 1, body: log[0]!.body });
  expect(reads()).toBe(0);
});

test("resuming after any event gives exactly the rest", async () => {
  const { append, log, reader } = growingLog();
  append(thought("a"), thought("b"), thought("c"), DONE);

  for (let after = 0; after <= 3; after++) {
    const bodies = (await collect(reader({ after }))).map(({ body }) => body);
    expect(bodies).toEqual(log.slice(after).map((event) => event.body));
  }
});

test("live events are shown only to readers that asked for them", async () => {
  const { feed, append, reader } = growingLog();
  const shown = async (deltas: boolean) =>
    (await collect(reader({ deltas }))).map(({ body }) => (JSON.parse(body) as { type: string }).type);
  const both = Promise.all([shown(true), shown(false)]);
  await Promise.resolve().then(() => Promise.resolve());
  feed.publishLive("r", { type: "responseDelta", content: "x" });
  append(DONE);

  expect(await both).toEqual([["responseDelta", "finalResponse"], ["finalResponse"]]);
});

test("a live event is encoded only while it has a subscriber", () => {
  const feed = createFeed(createMemoryBus());
  let encoded = 0;
  const event = { type: "responseDelta" as const, content: "x", toJSON: () => encoded++ };
  const messages: FeedMessage[] = [];
  const receive = (message: FeedMessage) => void messages.push(message);

  using _stored = feed.subscribe("r", receive, { live: false });
  feed.publishLive("r", event);
  expect(encoded).toBe(0);
  {
    using _live = feed.subscribe("r", receive, { live: true });
    feed.publishLive("r", event);
  }
  feed.publishLive("r", event);

  expect(encoded).toBe(1);
  expect(messages).toHaveLength(1);
});

test("the log of a run that has just begun here is read only after its first event", async () => {
  const { feed, append, reads, reader, seqs } = growingLog();
  using _owned = feed.own("r", 0, { begun: true });
  const first = idsOf(reader());
  append(thought("a"));
  expect(reads()).toBe(0);

  const second = idsOf(reader());
  append(DONE);

  expect(await first).toEqual(seqs());
  expect(reads()).toBe(1);
  expect(await second).toEqual(seqs());
});

test("the end of an earlier claim leaves the entry of a newer one", () => {
  const { feed } = growingLog();
  const before = feed.own("r", 0, { begun: true });
  const again = feed.own("r", 3, { begun: true });
  before[Symbol.dispose]();
  expect(feed.lastPublished("r")).toBe(3);

  again[Symbol.dispose]();
  expect(feed.lastPublished("r")).toBe(undefined);
});

test("a reader that stops waiting ends immediately", async () => {
  const stop = new AbortController();
  const next = growingLog().reader({ signal: stop.signal }).next();
  stop.abort();

  expect(await next).toEqual({ value: undefined, done: true });
});

test("a reader waits while the store is unavailable, and then misses nothing", async () => {
  const { runs, append, reader, seqs } = growingLog();
  let failures = 2;
  const failing: FollowContext["runs"] = {
    ...runs,
    events: (...args) => (failures-- > 0 ? Promise.reject(new StoreUnavailable("unavailable")) : runs.events(...args)),
  };
  append(thought("a"), DONE);

  expect(await idsOf(reader({}, { runs: failing }))).toEqual(seqs());
});

test("events that are stored while the log is read reach the reader once", async () => {
  const { runs, append, reader, seqs } = growingLog();
  append(thought("before"));
  let reads = 0;
  const growing: FollowContext["runs"] = {
    ...runs,
    events(...args) {
      if (reads++ === 0) append(thought("meanwhile"));
      const page = runs.events(...args);
      if (reads === 1) append(DONE);
      return page;
    },
  };

  expect(await idsOf(reader({}, { runs: growing }))).toEqual(seqs());
});

test("a stream reads its log in the async context in which it was opened", async () => {
  const { runs, append, reader } = growingLog();
  append(thought("a"), thought("b"), thought("c"), thought("d"), DONE);
  const scope = new AsyncLocalStorage<string>();
  const scopes: (string | undefined)[] = [];
  const recording: FollowContext["runs"] = {
    ...runs,
    events(...args) {
      scopes.push(scope.getStore());
      return runs.events(...args);
    },
  };

  const stream = scope.run("org_1", () => reader({}, { runs: recording }));
  await scope.run("org_2", () => idsOf(stream));

  expect(scopes).toEqual(["org_1", "org_1"]);
});

describe("the poller", () => {
  /** A reader over a feed that may lose every message. The poller gets the state of the log from `heads`. */
  function polled({ reader }: ReturnType<typeof growingLog>, heads: RunStore["heads"]) {
    const feed = createFeed({ ...createMemoryBus(), healthy: false });
    const stop = new AbortController();
    const poller = createLogPoller({ runs: { heads }, feed, clock: systemClock, log: silentLog });
    const polling = poller.run(stop.signal);
    const signal = AbortSignal.timeout(WAIT_MS);
    return {
      stream: reader({ after: 1, signal }, { feed, poller }),
      signal,
      async [Symbol.asyncDispose]() {
        stop.abort();
        await polling;
      },
    };
  }

  test.each([
    ["was erased", []],
    ["ended before the event after which it resumes", [{ runId: "r", lastSeq: 1, ended: true }]],
  ])("ends a reader of a run that %s", async (_, heads) => {
    const log = growingLog();
    log.append(thought("a"));
    await using reader = polled(log, async () => heads);

    expect(await reader.stream.next()).toEqual({ value: undefined, done: true });
    expect(reader.signal.aborted).toBe(false);
  });

  test("makes a reader read a log that has grown, and continues after a failure of the store", async () => {
    const log = growingLog();
    log.append(thought("a"));
    let polls = 0;
    await using reader = polled(log, async () => {
      polls++;
      if (polls === 1) throw new StoreUnavailable("unavailable");
      if (polls === 2) log.append(DONE);
      return [{ runId: "r", lastSeq: log.log.length, ended: log.log.length === 2 }];
    });

    expect((await reader.stream.next()).value).toMatchObject({ id: 2 });
    expect(polls).toBe(2);
  });

  test("checks many runs with few statements", async () => {
    const feed = createFeed({ ...createMemoryBus(), healthy: false });
    const counts: number[] = [];
    const stop = new AbortController();
    const heads: RunStore["heads"] = async (runIds) => {
      counts.push(runIds.length);
      if (counts.length === 3) stop.abort();
      return [];
    };
    const poller = createLogPoller({ runs: { heads }, feed, clock: systemClock, log: silentLog });
    for (let i = 0; i < 1_200; i++) poller.add(`r${i}`, () => {});
    poller.add("gone", () => {})[Symbol.dispose]();

    await poller.run(stop.signal);

    expect(counts).toEqual([500, 500, 200]);
  });
});

test("a run that only this replica follows sends nothing over the bus", async () => {
  const bus = createMemoryBus();
  const subjects: string[] = [];
  const publish: Bus["publish"] = (subject, body) => {
    subjects.push(subject);
    bus.publish(subject, body);
  };
  const recording: Bus = Object.create(bus, { publish: { value: publish } });
  await using core = await startScripted([{ text: "Hello." }], { bus: recording });

  const { runId } = await core.query("Hi");

  expect(subjects.filter((subject) => subject.endsWith(runId))).toEqual([]);
});
