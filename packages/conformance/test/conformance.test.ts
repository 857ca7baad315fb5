import { fileURLToPath } from "node:url";
import { connect, silentLog } from "@patchbay/functions";
import { type ConformanceOptions, runtimeConformance } from "@patchbay/functions/conformance";
import { CHECKS } from "@patchbay/conformance/checks";
import { PATIENCE } from "@patchbay/test-support/patience";
import { beforeAll, describe, expect, test } from "vitest";
import service from "./service.ts";
import { type Fault, FAULTS, startSmallRuntime } from "./small-runtime.ts";

const waitMs = 5_000 * PATIENCE;

async function problems(options: ConformanceOptions): Promise<string[]> {
  const results = await runtimeConformance({ waitMs, ...options });
  expect(results.map(({ name }) => name)).toEqual(Object.keys(CHECKS));
  return results.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
}

test("the runtime of this repository passes every check", async () => {
  expect(
    await problems({ start: (target) => connect(service, { ...target, log: silentLog, concurrency: 2 }).stop }),
  ).toEqual([]);
});

test("a program that finds the address and the key in its environment, and stops on SIGTERM, passes every check", async () => {
  const program = fileURLToPath(new URL("./runtime-process.ts", import.meta.url));

  // A new process loads its packages first.
  expect(await problems({ command: [process.execPath, program], waitMs: 6 * waitMs })).toEqual([]);
});

test("a runtime that does not connect is an error", async () => {
  const never = runtimeConformance({ start: () => () => {}, waitMs: 1 });

  await expect(never).rejects.toThrow("No connection within 1 ms.");
});

describe("a small runtime", () => {
  const faults = Object.entries(FAULTS);
  const found = new Map<string | undefined, string[]>();

  beforeAll(async () => {
    // At the same time, because a runtime with a fault mostly does not answer in time.
    const run = async (fault?: Fault) =>
      found.set(fault, await problems({ start: (target) => startSmallRuntime(target, fault) }));
    await Promise.all([run(), ...faults.map(([fault]) => run(fault as Fault))]);
  });

  test("without a fault passes every check", () => {
    expect(found.get(undefined)).toEqual([]);
  });

  test.each(faults)("that %s fails", (fault, checks) => {
    const failed = found.get(fault)!;

    expect(
      failed.map((problem) => problem.split(":")[0]),
      failed.join("\n"),
    ).toEqual(checks);
  });

  test("fails every check with one of these faults", () => {
    expect([...new Set(Object.values(FAULTS).flat())].toSorted()).toEqual(Object.keys(CHECKS).toSorted());
  });
});
