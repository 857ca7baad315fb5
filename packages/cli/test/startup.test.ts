import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const STARTUP = new URL("../src/startup.ts", import.meta.url).href;

/** Waits until all garbage is collected, which V8 does by itself only when it runs out of memory. */
const SCRIPT = `
  import { constants, PerformanceObserver } from "node:perf_hooks";
  import { growWithWork, startSmall } from ${JSON.stringify(STARTUP)};
  const waiting = setInterval(() => {}, 1_000);
  new PerformanceObserver((list) => {
    const all = constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE;
    if (!list.getEntries().some(({ detail }) => (detail.flags & all) !== 0)) return;
    clearInterval(waiting);
    console.log(typeof globalThis.gc);
  }).observe({ entryTypes: ["gc"] });
  startSmall();
  growWithWork();
`;

test("a started process frees what its start has left behind, without showing the collector", async ({ signal }) => {
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", SCRIPT], {
    stdio: ["ignore", "pipe", "ignore"],
    // A failing process would wait forever.
    signal,
  });
  child.on("error", () => {});
  expect((await text(child.stdout)).trim()).toBe("undefined");
});

/** Calls a function until the parent has seen enough. */
const HOT = `
  import { setImmediate } from "node:timers/promises";
  import { growWithWork, startSmall } from ${JSON.stringify(STARTUP)};
  const numbers = Array.from({ length: 1_000 }, (_, i) => i);
  function addUp() {
    let sum = 0;
    for (const number of numbers) sum += number % 7;
    return sum;
  }
  startSmall();
  for (let i = 0; i < 20_000; i++) addUp();
  console.log("started");
  growWithWork();
  for (;;) {
    for (let i = 0; i < 1_000; i++) addUp();
    await setImmediate();
  }
`;

test("a function that runs often during the start is optimized after it", async ({ signal }) => {
  const child = spawn(process.execPath, ["--trace-opt", "--input-type=module-typescript", "--eval", HOT], {
    stdio: ["ignore", "pipe", "ignore"],
    signal,
  });
  child.on("error", () => {});
  let started = false;
  for await (const line of createInterface({ input: child.stdout })) {
    started ||= line === "started";
    if (!/addUp.*TURBOFAN/.test(line)) continue;
    expect(started).toBe(true);
    child.kill();
    return;
  }
  expect.unreachable("the process ended by itself");
});
