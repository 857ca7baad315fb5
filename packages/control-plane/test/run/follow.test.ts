import { expect, test } from "vitest";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import { StoreUnavailable, type RunStore, type StoredEvent } from "../../src/ports/run-store.ts";
import { silentLog } from "../../src/ports/log.ts";
import { joining } from "../../src/run/either-signal.ts";
import { type Beat, createFeed } from "../../src/run/feed.ts";
import { follow } from "../../src/run/follow.ts";
import { createWatch } from "../../src/run/watch.ts";
import { systemClock } from "../../src/system-clock.ts";

const RUN = { runId: "r" };
/** For readers who need no watching over. */
const watch = { on: () => ({ [Symbol.dispose]() {} }) };
const orDraining = joining(new AbortController().signal);

/** A log that grows, and the feed that tells of it. */
function growingLog() {
  const log: StoredEvent[] = [];
  const feed = createFeed(createMemoryBus());
  let reads = 0;
  const runs = {
    async events(_: string, after: number, limit: number) {
      reads++;
      return log.filter((event) => event.seq > after).slice(0, limit);
    },
  } as Pick<RunStore, "events"> as RunStore;
  function append(body: object): void {
    const event = { seq: log.length + 1, body: JSON.stringify(body) };
    log.push(event);
    feed.stored("r", [event]);
  }
  return { runs, feed, append, log, reads: () => reads };
}

test("a reader that lags behind megabytes of events still gets each of them once, in order", async () => {
  const { runs, feed, append, log } = growingLog();
  const stream = follow(
    RUN,
    { after: 0, deltas: true, signal: AbortSignal.timeout(10_000) },
    { runs, feed, watch, orDraining },
  );
  append({ type: "thought", content: "first" });
  expect((await stream.next()).value).toMatchObject({ id: 1 });

  // Nobody reads while these come in: far more than a reader's inbox holds.
  for (let i = 0; i < 500; i++) {
    append({ type: "thought", content: "x".repeat(5_000) });
    feed.live("r", { type: "responseDelta", content: "lost when behind" });
  }
  append({ type: "error", errorMessage: "end" });

  const seen: number[] = [1];
  for await (const event of stream) if (event.id !== undefined) seen.push(event.id);
  expect(seen).toEqual(log.map((event) => event.seq));
});

test("an event that is larger than an inbox reaches a reader without being read from the log", async () => {
  const { runs, feed, append, log, reads } = growingLog();
  using _working = feed.works("r", 0);
  const options = { after: 0, deltas: true, signal: AbortSignal.timeout(10_000) };
  const stream = follow(RUN, options, { runs, feed, watch, orDraining });
  const first = stream.next();

  append({ type: "finalResponse", response: "x".repeat(3_000_000) });

  expect((await first).value).toEqual({ id: 1, body: log[0]!.body });
  expect(reads()).toBe(0);
});

test("resuming after any event gives exactly the rest", async () => {
  const { runs, feed, append, log } = growingLog();
  for (const content of ["a", "b", "c"]) append({ type: "thought", content });
  append({ type: "finalResponse", response: "done" });

  for (let after = 0; after <= 3; after++) {
    const seen: string[] = [];
    const options = { after, deltas: false, signal: AbortSignal.timeout(10_000) };
    for await (const event of follow(RUN, options, { runs, feed, watch, orDraining })) seen.push(event.body);
    expect(seen).toEqual(log.slice(after).map((event) => event.body));
  }
});

test("live events are shown only to those who asked for them", async () => {
  const { runs, feed, append } = growingLog();
  const shown = async (deltas: boolean): Promise<string[]> => {
    const types: string[] = [];
    const options = { after: 0, deltas, signal: AbortSignal.timeout(10_000) };
    for await (const event of follow(RUN, options, { runs, feed, watch, orDraining }))
      types.push((JSON.parse(event.body) as { type: string }).type);
    return types;
  };
  const both = Promise.all([shown(true), shown(false)]);
  await Promise.resolve().then(() => Promise.resolve());
  feed.live("r", { type: "responseDelta", content: "x" });
  append({ type: "finalResponse", response: "x" });

  expect(await both).toEqual([["responseDelta", "finalResponse"], ["finalResponse"]]);
});

test("a live event is made only while somebody wants it", () => {
  const feed = createFeed(createMemoryBus());
  let made = 0;
  const event = { type: "responseDelta" as const, content: "x", toJSON: () => made++ };
  const beats: Beat[] = [];

  using _stored = feed.listen("r", (beat) => void beats.push(beat), { live: false });
  feed.live("r", event);
  expect(made).toBe(0);
  {
    using _live = feed.listen("r", (beat) => void beats.push(beat), { live: true });
    feed.live("r", event);
  }
  feed.live("r", event);

  expect(made).toBe(1);
  expect(beats).toHaveLength(1);
});

test("the log of a run that was begun here just now is not read, unless something was told of it before", async () => {
  const { runs, feed, append, log, reads } = growingLog();
  using _working = feed.works("r", 0);
  const read = async (): Promise<(number | undefined)[]> => {
    const ids: (number | undefined)[] = [];
    const options = { after: 0, deltas: false, signal: AbortSignal.timeout(5_000) };
    for await (const { id } of follow(RUN, options, { runs, feed, watch, orDraining })) ids.push(id);
    return ids;
  };
  const first = read();
  append({ type: "thought", content: "a" });
  expect(reads()).toBe(0);

  const second = read();
  append({ type: "finalResponse", response: "done" });

  expect(await first).toEqual(log.map(({ seq }) => seq));
  expect(reads()).toBe(1);
  expect(await second).toEqual(log.map(({ seq }) => seq));
});

test("a run that has moved on is read from its log again", async () => {
  const { feed } = growingLog();
  const before = feed.works("r", 0);
  const again = feed.works("r", 3);
  before[Symbol.dispose]();
  expect(feed.lastTold("r")).toBe(3);

  again[Symbol.dispose]();
  expect(feed.lastTold("r")).toBe(undefined);
});

test("a reader that stops waiting ends at once and leaves nothing behind", async () => {
  const { runs, feed } = growingLog();
  const stop = new AbortController();
  const stream = follow(RUN, { after: 0, deltas: false, signal: stop.signal }, { runs, feed, watch, orDraining });
  const next = stream.next();
  stop.abort();

  expect(await next).toEqual({ value: undefined, done: true });
});

test("a reader waits while the store is out of reach, and then misses nothing", async () => {
  const { runs, feed, append, log } = growingLog();
  let failures = 2;
  const failing = {
    ...runs,
    events: (...of: Parameters<RunStore["events"]>) =>
      failures-- > 0 ? Promise.reject(new StoreUnavailable("out of reach")) : runs.events(...of),
  };
  append({ type: "thought", content: "a" });
  append({ type: "finalResponse", response: "done" });

  const seen: number[] = [];
  const options = { after: 0, deltas: false, signal: AbortSignal.timeout(5_000) };
  for await (const event of follow(RUN, options, { runs: failing, feed, watch, orDraining })) seen.push(event.id!);

  expect(seen).toEqual(log.map(({ seq }) => seq));
});

/** A reader of a log whose state is told by `heads`, over a feed that may lose everything. */
function watched(log: ReturnType<typeof growingLog>, heads: RunStore["heads"]) {
  const feed = createFeed({ ...createMemoryBus(), healthy: false });
  const stop = new AbortController();
  const watch = createWatch({ runs: { heads }, feed, clock: systemClock, log: silentLog });
  const watching = watch.run(stop.signal);
  const options = { after: 1, deltas: false, signal: AbortSignal.timeout(5_000) };
  return {
    stream: follow(RUN, options, { runs: log.runs, feed, watch, orDraining }),
    signal: options.signal,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}

test.each([
  ["was erased", []],
  ["ended before the event it asks to go on from", [{ runId: "r", lastSeq: 1, ended: true }]],
])("a reader of a run that %s is not left waiting", async (_, heads) => {
  const log = growingLog();
  log.append({ type: "thought", content: "a" });
  await using reader = watched(log, async () => heads);

  expect(await reader.stream.next()).toEqual({ value: undefined, done: true });
  expect(reader.signal.aborted).toBe(false);
});

test("a reader whom nothing wakes reads the log when it has grown, and not while the store is out of reach", async () => {
  const log = growingLog();
  log.append({ type: "thought", content: "a" });
  let asked = 0;
  await using reader = watched(log, async () => {
    asked++;
    if (asked === 1) throw new StoreUnavailable("out of reach");
    if (asked === 2) log.append({ type: "finalResponse", response: "done" });
    return [{ runId: "r", lastSeq: log.log.length, ended: log.log.length === 2 }];
  });

  expect((await reader.stream.next()).value).toMatchObject({ id: 2 });
  expect(asked).toBe(2);
});

test("readers of many runs are looked after by few statements", async () => {
  const feed = createFeed({ ...createMemoryBus(), healthy: false });
  const asked: number[] = [];
  const stop = new AbortController();
  const watch = createWatch({
    runs: {
      async heads(runIds) {
        asked.push(runIds.length);
        if (asked.length === 3) stop.abort();
        return [];
      },
    },
    feed,
    clock: systemClock,
    log: silentLog,
  });
  for (let i = 0; i < 1_200; i++) watch.on(`r${i}`, () => {});
  watch.on("gone", () => {})[Symbol.dispose]();

  await watch.run(stop.signal);

  expect(asked).toEqual([500, 500, 200]);
});
