import { expect, test } from "vitest";
import { defineService } from "../../src/index.ts";
import { helloOf } from "../../src/runtime/hello.ts";
import { memoryLog } from "../calls.ts";

test("a service whose spans cannot be loaded connects without them", async () => {
  const log = memoryLog();
  const service = defineService({ name: "desk", functions: [] });
  const load = () => Promise.reject(new Error("@opentelemetry/api is broken"));

  const hello = await helloOf(service, {
    instanceId: "i-1",
    concurrency: 1,
    log,
    traces: { load, inSpan: (_span, work) => work() },
  });

  expect(JSON.parse(hello)).toMatchObject({ type: "hello", manifest: service.manifest });
  expect(log.lines).toMatchObject([{ level: "warn", message: "the service connects without cases, lock and spans" }]);
});
