import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { TEST_MS, WAIT_MS } from "@patchbay/test-support/patience";
import { Stalls } from "./test/support/stalls.ts";

/** Module tests that need a database server or a bus. */
const SERVICES = [
  "packages/*/test/**/*{postgres,nats}*.test.ts",
  "packages/control-plane/test/start/{first-start,restore}.test.ts",
  "packages/store/test/{audit-upgrade,migrate,plans}.test.ts",
];
/** Module tests that start processes, hash many passwords, wait for time limits, or try thousands of cases. */
const LONG = [
  "check/{site,snippets}.test.ts",
  "packages/cli/test/**/*.test.ts",
  "packages/escalation/test/escalation*.test.ts",
  "packages/runtime/test/widening-properties.test.ts",
  "packages/console-api/test/{attempts,csrf,live,load,members,open-views,run-search,sign-in}.test.ts",
  "packages/gateway/test/{limits,lost-messages}.test.ts",
  "packages/engine/test/run/{delivery,hanging}.test.ts",
  "packages/store/test/{sqlite-files,sqlite-processes,thread-title}.test.ts",
];
/** Contract tests that send thousands of requests, or wait for time limits of sockets. */
const LONG_CONTRACTS = [
  "test/contract/{adversarial-model,canaries,command,hostile-requests,open-streams,run-control,time-limits}.test.ts",
];
/**
 * Installations from a registry, proxies and monitoring of a deployment, and readers of large logs: long, and what they test changes
 * rarely. `npm test` has one of each kind, and all declarations; `.ci/full` and a run of a single file have all.
 */
const FULL_SYSTEM = [
  "test/deploy/{nginx-console,nginx-limits,nginx-replicas,nginx-streams,prometheus}.test.ts",
  "test/recovery/{slow,stopped}-readers.test.ts",
];
const FULL_PACKAGES = [
  "test/packages/{bun-deno,generated-clients,matrix,mounted-next,node-versions,pack,real-clients,registry,tool-libraries,tutorial}.test.ts",
];

const project = (name: string, include: string[], exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude },
});

/** Tests of installed packages, which come from one registry. */
const packages = (...files: Parameters<typeof project>) => {
  const { test, ...rest } = project(...files);
  return { ...rest, test: { ...test, globalSetup: "test/packages/registry.ts" } };
};

/** Files that share a process. Half of the time of short files goes into starting Node.js and importing the packages. */
const shared = (...files: Parameters<typeof project>) => {
  const { test, ...rest } = project(...files);
  // A spy on a global must not reach the next file.
  return { ...rest, test: { ...test, isolate: false, restoreMocks: true } };
};

/**
 * Starts files of the system lane, which mostly wait for leases, time limits and reconnects, between files that compute: four
 * workers then keep two cores busy. Files that share a process follow one another, at the end.
 */
class Alternating extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const {
      waiting = [],
      computing = [],
      sharing = [],
    } = Object.groupBy(sorted, ({ project: { name, config } }) => {
      if (!config.isolate) return "sharing";
      return name === "system" || name === "full" ? "waiting" : "computing";
    });
    const turns = Array.from({ length: Math.max(waiting.length, computing.length) }, (_, i) => [
      waiting[i],
      computing[i],
    ]);
    return [...turns.flat().filter((file) => file !== undefined), ...sharing];
  }
}

// oxlint-disable-next-line import/no-default-export -- the form of a configuration file
export default defineConfig({
  test: {
    root: import.meta.dirname,
    projects: [
      shared(
        "unit",
        ["check/*.test.ts", "packages/*/{test,template}/**/*.test.ts", "examples/*/test/**/*.test.ts"],
        [...SERVICES, ...LONG],
      ),
      shared("contract", ["test/contract/**/*.test.ts"], LONG_CONTRACTS),
      project("services", SERVICES),
      project("long", [...LONG, ...LONG_CONTRACTS]),
      project("system", ["test/**/*.test.ts"], ["test/{chat,contract,console,packages}/**", ...FULL_SYSTEM]),
      packages("packages", ["test/packages/**/*.test.ts"], FULL_PACKAGES),
      project("full", FULL_SYSTEM),
      packages("full-packages", FULL_PACKAGES),
      shared("browser", ["test/{chat,console}/**/*.test.ts"]),
    ],
    setupFiles: ["test/support/setup.ts"],
    retry: 0,
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    expect: { poll: { timeout: WAIT_MS } },
    pool: "forks",
    maxWorkers: 4,
    sequence: { sequencer: Alternating },
    reporters: ["default", new Stalls()],
  },
});
