import { LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, everyone } from "../../src/index.ts";
import { helloOf } from "../../src/connection/hello.ts";
import { memoryLog } from "../calls.ts";

/** Traces of a process without OpenTelemetry. */
const traces = { load: async () => undefined, inSpan: <T>(_span: unknown, work: () => T): T => work() };

test("a service whose spans cannot be loaded connects without them", async () => {
  const log = memoryLog();
  const service = defineService({ name: "desk", functions: [] });
  const load = () => Promise.reject(new Error("@opentelemetry/api is broken"));

  const hello = await helloOf(service, {
    instanceId: "i-1",
    concurrency: 1,
    log,
    traces: { ...traces, load },
  });

  expect(JSON.parse(hello)).toMatchObject({ type: "hello", manifest: service.manifest });
  expect(log.lines).toMatchObject([{ level: "warn", message: "the service connects without cases, lock and spans" }]);
});

test("a lock that does not fit next to the functions is left out and logged", async () => {
  const log = memoryLog();
  const description = "x".repeat(LIMITS.frameBytes - LIMITS.reportedLockUnits);
  const input = z.object({});
  const read = defineFunction({ name: "read", description, input, roles: everyone, handler: async () => "" });
  const service = defineService({ name: "desk", functions: [read] });
  const accessLock = { title: "x".repeat(LIMITS.reportedLockUnits - 20) };

  const hello = await helloOf(service, { instanceId: "i-1", concurrency: 1, accessLock, log, traces });

  expect(JSON.parse(hello)).not.toHaveProperty("lock");
  expect(log.lines).toMatchObject([{ level: "warn", fields: { limitBytes: LIMITS.frameBytes } }]);
});
