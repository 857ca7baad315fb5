import { connect, silentLog } from "@patchbay/functions";
import { afterEach, expect, test, vi } from "vitest";
import { startChaosProxy } from "../support/chaos-proxy.ts";
import { printFigure } from "../support/figure.ts";
import { startHandPlane } from "../support/hand-plane.ts";
import { handService } from "../support/hand-service.ts";

const HALF_AN_HOUR_MS = 30 * 60_000;
const FIRST_MINUTES_MS = 5 * 60_000;

afterEach(() => void vi.useRealTimers());

/** Lets the network work while the clock stands still, until `condition` holds. */
async function untilReal(condition: () => boolean): Promise<void> {
  const endsAt = Date.now() + 10_000;
  while (!condition() && Date.now() < endsAt) await new Promise(setImmediate);
  expect(condition()).toBe(true);
}

test("a runtime whose control plane is away for half an hour goes on dialling, and has it back within 35 s", async () => {
  await using plane = await startHandPlane();
  await using proxy = await startChaosProxy(plane.port);
  proxy.refusing = true;
  const waits: number[] = [];
  const noted = (_message: string, fields: { retryInMs?: unknown } = {}) => {
    if (typeof fields.retryInMs === "number") waits.push(fields.retryInMs);
  };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const runtime = connect(handService(), {
    url: `http://127.0.0.1:${proxy.port}`,
    key: "key-of-a",
    log: { ...silentLog, info: noted, warn: noted, error: noted },
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

  // It is back just after an attempt has failed: the whole wait lies ahead.
  proxy.refusing = false;
  const backMs = waits.at(-1)!;
  vi.advanceTimersByTime(backMs);
  await plane.welcome();
  await untilReal(() => runtime.state === "connected");
  vi.useRealTimers();
  await runtime.stop({ drainMs: 0 });

  const grown = waits.slice(early);
  printFigure("13 control plane away", {
    minutes: Math.round(awayMs / 60_000),
    attempts: waits.length,
    "longest wait ms": Math.max(...waits),
    "back after ms": backMs,
  });
  expect(Math.max(...waits.slice(0, early))).toBeLessThanOrEqual(2_500);
  expect(backMs).toBeLessThanOrEqual(35_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
  expect(waits.length).toBeGreaterThan(60);
  // Spread over the whole span, so that runtimes do not come back in step.
  expect(Math.max(...grown) - Math.min(...grown)).toBeGreaterThan(15_000);
});
