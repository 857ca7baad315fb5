import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Module tests that need a database server or a bus. */
const SERVICES = [
  "packages/*/test/**/*{postgres,nats}*.test.ts",
  "packages/control-plane/test/start/restore.test.ts",
  "packages/control-plane/test/store/{migrate,plans}.test.ts",
];
/** Module tests that start processes, hash many passwords, wait for time limits, or try thousands of cases. */
const LONG = [
  "check/snippets.test.ts",
  "packages/cli/test/**/*.test.ts",
  "packages/functions/test/testing/escalation*.test.ts",
  "packages/functions/test/widening-properties.test.ts",
  "packages/control-plane/test/console/{attempts,csrf,live,load,members,open-views,run-search,sign-in}.test.ts",
  "packages/control-plane/test/gateway/{limits,lost-messages}.test.ts",
  "packages/control-plane/test/run/{crash-loop,delivery,hanging}.test.ts",
  "packages/control-plane/test/store/{sqlite-files,sqlite-processes,thread-title}.test.ts",
];
/** Contract tests that send thousands of requests, or wait for time limits of sockets. */
const LONG_CONTRACTS = [
  "test/contract/{adversarial-model,canaries,command,hostile-requests,open-streams,run-control,time-limits}.test.ts",
];

const project = (name: string, include: string[], exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude },
});

/** Files that share a process. Half of the time of short files goes into starting Node.js and importing the packages. */
const shared = (...files: Parameters<typeof project>) => {
  const { test, ...rest } = project(...files);
  // A spy on a global must not reach the next file.
  return { ...rest, test: { ...test, isolate: false, restoreMocks: true } };
};

/**
 * Starts files of the system lane, which mostly wait for leases, time limits and reconnects, between files that compute: three
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
      return name === "system" ? "waiting" : "computing";
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
      project("system", ["test/**/*.test.ts"], ["test/{chat,contract,console,packages}/**"]),
      {
        extends: true as const,
        test: {
          name: "packages",
          include: ["test/packages/**/*.test.ts"],
          globalSetup: "test/packages/registry.ts",
        },
      },
      project("browser", ["test/{chat,console}/**/*.test.ts"]),
    ],
    setupFiles: ["test/support/wait-limit.ts"],
    retry: 0,
    // For machines that are many times slower than usual: a test that measures time has limits of its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    pool: "forks",
    maxWorkers: 3,
    sequence: { sequencer: Alternating },
    reporters: ["default"],
  },
});
