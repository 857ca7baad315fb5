import { clearTimer, setInterval, setTimeout, sleep, timeoutSignal, wallMs } from "@patchbay/kit/time";
import { virtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";

test("virtual time passes only on request, to the millisecond", async () => {
  using time = virtualTime();
  const start = wallMs();
  const beats: number[] = [];
  setInterval(() => beats.push(wallMs() - start), 400);
  const signal = timeoutSignal(1_000);

  await time.advance(999);
  expect([beats, signal.aborted, time.now]).toEqual([[400, 800], false, 999]);
  await time.advance(1);
  expect(signal.aborted).toBe(true);
});

test("a wait in virtual time returns its length, and throws at its limit", async () => {
  using time = virtualTime();
  let done = false;
  void sleep(5_000).then(() => (done = true));

  await expect(time.until(() => done, 4_999)).rejects.toThrow("Not done within 4999 ms of virtual time.");
  expect(await time.until(() => done)).toBe(1);
});

test("a timer that was set before the time is virtual can be ended", () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const timer = setTimeout(() => {}, 60_000);

  using _ = virtualTime();
  clearTimer(timer);

  expect(timers()).toBe(before);
});
