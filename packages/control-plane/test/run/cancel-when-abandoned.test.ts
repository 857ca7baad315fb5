import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import type { Bus } from "../../src/ports/bus.ts";
import { cancelWhenAbandoned } from "../../src/run/follow/cancel-when-abandoned.ts";

const run = { runId: "run_1", threadId: "thr_1", agentId: "agt_1" };
const cancel = { cancelWhenGone: true };
const stay = { cancelWhenGone: false };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Replicas on one bus, and which of them cancelled the run. */
function replicas(bus: Bus = createMemoryBus()) {
  const abandoned: string[] = [];
  const replica = (name: string) => cancelWhenAbandoned(bus, () => abandoned.push(name));
  return { a: replica("a"), b: replica("b"), abandoned };
}

test("a run is cancelled when its last reader left 5 s ago", () => {
  const { a, abandoned } = replicas();
  const [first, second] = [a.attach(run, cancel), a.attach(run, stay)];

  first[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);
  second[Symbol.dispose]();
  vi.advanceTimersByTime(4_999);
  expect(abandoned).toEqual([]);
  vi.advanceTimersByTime(1_001);
  expect(abandoned).toEqual(["a"]);
});

test("a run is not cancelled when none of its readers asked for it", () => {
  const { a, abandoned } = replicas();

  a.attach(run, stay)[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);

  expect(abandoned).toEqual([]);
});

test("a run is not cancelled when a reader comes back while the other replicas are asked", () => {
  const { a, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();

  vi.advanceTimersByTime(5_500);
  const back = a.attach(run, stay);
  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);

  back[Symbol.dispose]();
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["a"]);
});

test("a run that is read at another replica is cancelled there after that reader has left", () => {
  const { a, b, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();
  vi.advanceTimersByTime(1_000);
  const resumed = b.attach(run, stay);

  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);

  resumed[Symbol.dispose]();
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["b"]);
});

test("a run is cancelled 5 s after its last reader left any replica", () => {
  const { a, b, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();
  vi.advanceTimersByTime(4_000);
  b.attach(run, stay)[Symbol.dispose]();

  vi.advanceTimersByTime(4_000);
  expect(abandoned).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(abandoned).toEqual(["b"]);
});

test("a replica that cannot ask the others cancels no run", () => {
  const bus = { ...createMemoryBus(), healthy: false };
  const { a, abandoned } = replicas(bus);
  a.attach(run, cancel)[Symbol.dispose]();

  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);
  bus.healthy = true;
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["a"]);
});
