import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LeaseLost, type RunStore } from "../../src/ports/store/run-store.ts";
import { RunFailure } from "../../src/run/run-failure.ts";
import { createLeases } from "../../src/run/worker/leases.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process that works on runs `a` and `b`. */
function leasesOf(renew: RunStore["renew"]) {
  const running = new Map(["a", "b"].map((id) => [id, { abort: new AbortController() }]));
  const reasons = () => [...running.values()].map(({ abort }) => abort.signal.reason as unknown);
  return { ...createLeases(running, { owner: "replica-1", runs: { renew } }), reasons };
}

const bothHeld: RunStore["renew"] = async (_, runIds) => runIds.map((runId) => ({ runId, cancelRequested: false }));

test("leases are renewed every 5 s", async () => {
  const renew = vi.fn(bothHeld);
  const leases = leasesOf(renew);

  for (let second = 0; second < 11; second++) {
    vi.advanceTimersByTime(1_000);
    await leases.renew();
  }

  const call = ["replica-1", ["a", "b"], 15_000];
  expect(renew.mock.calls).toEqual([call, call]);
});

test("a run that is to be cancelled is aborted when its lease is renewed", async () => {
  const leases = leasesOf(async () => [
    { runId: "a", cancelRequested: true },
    { runId: "b", cancelRequested: false },
  ]);

  vi.advanceTimersByTime(5_000);
  await leases.renew();

  expect(leases.reasons()).toMatchObject([{ code: "cancelled" }, undefined]);
  expect(leases.reasons()[0]).toBeInstanceOf(RunFailure);
});

test("a run whose lease was lost is aborted", async () => {
  const leases = leasesOf(async () => [{ runId: "b", cancelRequested: false }]);

  vi.advanceTimersByTime(5_000);
  await leases.renew();

  expect(leases.reasons()).toEqual([expect.any(LeaseLost), undefined]);
});

test("all runs are aborted 10 s after their last renewal when the store hangs", () => {
  const leases = leasesOf(() => new Promise(() => {}));
  vi.advanceTimersByTime(5_000);
  void leases.renew();

  vi.advanceTimersByTime(5_000);
  leases.abortUnrenewed();
  expect(leases.reasons()).toEqual([undefined, undefined]);
  vi.advanceTimersByTime(1);
  leases.abortUnrenewed();

  expect(leases.reasons()).toEqual([expect.any(LeaseLost), expect.any(LeaseLost)]);
});

/** Answers of a store that takes 3 s for them. */
const slowly: RunStore["renew"] = async (...asked) => {
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return bothHeld(...asked);
};

test("a renewal counts from the moment at which its request left, however slow the answer is", async () => {
  const renew = vi.fn(slowly);
  const leases = leasesOf(renew);
  const renewed = async (): Promise<void> => {
    const renewing = leases.renew();
    await vi.advanceTimersByTimeAsync(3_000);
    await renewing;
  };
  vi.advanceTimersByTime(5_000);
  await renewed();

  vi.advanceTimersByTime(1_999);
  await leases.renew();
  expect(renew).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  renew.mockReturnValue(new Promise(() => {}));
  void leases.renew();
  expect(renew).toHaveBeenCalledTimes(2);

  // 10 s after the first request left, although its answer came 7 s ago.
  vi.advanceTimersByTime(5_000);
  leases.abortUnrenewed();
  expect(leases.reasons()).toEqual([undefined, undefined]);
  vi.advanceTimersByTime(1);
  leases.abortUnrenewed();
  expect(leases.reasons()).toEqual([expect.any(LeaseLost), expect.any(LeaseLost)]);
});

test.each([true, false])("a lease counts from the moment at which it was asked for; other runs: %s", async (others) => {
  const running = new Map(others ? [["a", { abort: new AbortController() }]] : []);
  const renew = vi.fn<RunStore["renew"]>(async (_, runIds) =>
    runIds.map((runId) => ({ runId, cancelRequested: false })),
  );
  const leases = createLeases(running, { owner: "replica-1", runs: { renew } });
  const askedAt = performance.now();
  vi.advanceTimersByTime(5_000);
  await leases.renew();
  // The answer to the claim comes after 9 s.
  vi.advanceTimersByTime(4_000);
  const claimed = { abort: new AbortController() };
  leases.begin(askedAt);
  running.set("b", claimed);

  renew.mockReturnValue(new Promise(() => {}));
  void leases.renew();
  expect(renew).toHaveBeenLastCalledWith("replica-1", others ? ["a", "b"] : ["b"], 15_000);
  vi.advanceTimersByTime(2_001);
  leases.abortUnrenewed();

  expect(claimed.abort.signal.reason).toBeInstanceOf(LeaseLost);
});

test("no run is aborted after a pause of the process in which no renewal was tried", () => {
  const leases = leasesOf(bothHeld);

  vi.advanceTimersByTime(60_000);
  leases.abortUnrenewed();

  expect(leases.reasons()).toEqual([undefined, undefined]);
});
