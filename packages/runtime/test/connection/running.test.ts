import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService, gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { plane, runtimeOf } from "./hand-plane.ts";

test("a function runs as many handlers as its concurrency allows, and leaves the other places to other functions", async () => {
  const gate = gated();
  const service = fakeService({ functions: ["echo", "other"], answer: gate.answer });
  service.manifest.functions[0]!.concurrency = 1;
  const started = await plane();
  runtimeOf(started.url, service, { concurrency: 3 });
  const connection = await started.welcome();

  for (const callId of ["c1", "c2", "c3"]) connection.send(callFrame(callId));
  connection.send(callFrame("c4", { function: "other" }));
  await until(() => gate.started(2), "two calls");
  connection.send({ type: "callQuery", callId: "c3", attempt: 1 });
  await connection.next("callState");
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c4"]);
  gate.open();

  await until(() => service.invoked.length === 4, "the calls that waited");
  expect(service.invoked.map(({ callId }) => callId)).toEqual(["c1", "c4", "c2", "c3"]);
});
