import { connect, silentLog } from "@patchbay/functions";
import { afterEach, expect, test, vi } from "vitest";
import { startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { printFigure } from "@patchbay/test-support/figures";
import { startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";

const HALF_AN_HOUR_MS = 30 * 60_000;
const FIRST_MINUTES_MS = 5 * 60_000;

afterEach(() => void vi.useRealTimers());

/** Runs the event loop until `condition` is true, without advancing the clock. */
async function untilReal(condition: () => boolean): Promise<void> {
  const endsAt = Date.now() + 10_000;
  while (!condition() && Date.now() < endsAt) await new Promise(setImmediate);
  expect(condition()).toBe(true);
}

test("a runtime whose control plane is down for half an hour retries, and reconnects within 10 s of its return", async () => {
  await using plane = await startFakeControlPlane();
  await using proxy = await startChaosProxy(plane.port);
  proxy.refusing = true;
  const waits: number[] = [];
  const record = (_message: string, fields: { retryInMs?: unknown } = {}) => {
    if (typeof fields.retryInMs === "number") waits.push(fields.retryInMs);
  };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const runtime = connect(fakeService(), {
    url: `http://127.0.0.1:${proxy.port}`,
    key: "key-of-a",
    log: { ...silentLog, info: record, warn: record, error: record },
  });

  let awayMs = 0;
  let early = 0;
  for (let dials = 1; awayMs < HALF_AN_HOUR_MS; dials++) {
    await untilReal(() => waits.length === dials);
    if (awayMs < FIRST_MINUTES_MS) early = dials;
    awayMs += waits.at(-1)!;
    vi.advanceTimersByTime(waits.at(-1)!);
  }
  const failed = waits.length;
  await untilReal(() => waits.length === failed + 1);

  // The worst case: it returns just after an attempt failed, before the whole wait.
  proxy.refusing = false;
  const backMs = waits.at(-1)!;
  vi.advanceTimersByTime(backMs);
  await plane.welcome();
  await untilReal(() => runtime.state === "connected");
  vi.useRealTimers();
  await runtime.stop({ drainMs: 0 });

  const grown = waits.slice(early);
  printFigure("control plane away", {
    minutes: Math.round(awayMs / 60_000),
    attempts: waits.length,
    "longest wait ms": Math.max(...waits),
    "back after ms": backMs,
  });
  expect(Math.max(...waits.slice(0, early))).toBeLessThanOrEqual(2_500);
  expect(backMs).toBeLessThanOrEqual(10_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
  expect(waits.length).toBeGreaterThan(60);
  // Spread over the whole range, so that runtimes do not reconnect in step.
  expect(Math.max(...grown) - Math.min(...grown)).toBeGreaterThan(5_000);
});
