import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import type { Bus } from "../../src/ports/bus.ts";
import { createReaders } from "../../src/run/readers.ts";

const run = { runId: "run_1", threadId: "thr_1", agentId: "agt_1" };
const cancel = { cancelWhenGone: true };
const stay = { cancelWhenGone: false };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Replicas on one bus, and which of them gave the run up. */
function replicas(bus: Bus = createMemoryBus()) {
  const abandoned: string[] = [];
  const replica = (name: string) => createReaders(bus, () => abandoned.push(name));
  return { a: replica("a"), b: replica("b"), abandoned };
}

test("a run is given up when its last reader has been gone for 5 s", () => {
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

test("a run whose readers did not ask for that is never given up", () => {
  const { a, abandoned } = replicas();

  a.attach(run, stay)[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);

  expect(abandoned).toEqual([]);
});

test("a reader that comes back in time, even while the others are asked, keeps the run and what it asked for", () => {
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

test("a run that is read at another replica is given up there, once that reader is gone too", () => {
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

test("a reader that left another replica a moment ago still has its 5 s", () => {
  const { a, b, abandoned } = replicas();
  a.attach(run, cancel)[Symbol.dispose]();
  vi.advanceTimersByTime(4_000);
  b.attach(run, stay)[Symbol.dispose]();

  vi.advanceTimersByTime(4_000);
  expect(abandoned).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(abandoned).toEqual(["b"]);
});

test("a replica that cannot ask the others gives no run up", () => {
  const bus = { ...createMemoryBus(), healthy: false };
  const { a, abandoned } = replicas(bus);
  a.attach(run, cancel)[Symbol.dispose]();

  vi.advanceTimersByTime(60_000);
  expect(abandoned).toEqual([]);
  bus.healthy = true;
  vi.advanceTimersByTime(6_000);
  expect(abandoned).toEqual(["a"]);
});
