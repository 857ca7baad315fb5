import { defineFunction, defineService, FunctionError } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callFrame, type FakeConnection } from "@patchbay/test-support/fake-control-plane";
import { fakeService, gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { type Line, memoryLog } from "../calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

const CANARY = "c4n4ry";

const input = z.object({ note: z.string() });
const desk = defineService({
  name: "desk",
  roles: ["clerk", "guest"],
  functions: [
    defineFunction({ name: "look_up", description: "Finds.", input, roles: "everyone", handler: () => CANARY }),
    defineFunction({ name: "refund", description: "Pays.", input, roles: ["clerk"], handler: () => CANARY }),
    defineFunction({
      name: "fail",
      description: "Fails.",
      input,
      roles: "everyone",
      handler({ note }) {
        throw new FunctionError(`No order ${note}.`);
      },
    }),
  ],
});

/** A runtime whose log keeps all lines, also those of level debug. */
async function startLogged(service = desk, concurrency = 16) {
  const log = memoryLog();
  const { url, welcome } = await plane();
  runtimeOf(url, service, { log, concurrency });
  const ended = (): Line[] => log.lines.filter(({ message }) => message === "call ended");
  return { connection: await welcome(), lines: log.lines, ended };
}

async function run(connection: FakeConnection, callId: string, functionName: string, role: string) {
  connection.send(
    callFrame(callId, { function: functionName, role, arguments: { note: CANARY }, context: { CANARY } }),
  );
  await connection.next("result");
}

test("each call is a line at debug: its run, function, role, attempt, outcome and time", async () => {
  const { connection, ended } = await startLogged();

  await run(connection, "c1", "look_up", "guest");
  await run(connection, "c2", "refund", "guest");
  await run(connection, "c3", "fail", "clerk");

  const of = (callId: string, functionName: string, role: string) => ({
    level: "debug",
    message: "call ended",
    fields: { runId: "run", callId, functionName, attempt: 1, role, ms: expect.any(Number) as number },
  });
  const [found, denied, failed] = [
    of("c1", "look_up", "guest"),
    of("c2", "refund", "guest"),
    of("c3", "fail", "clerk"),
  ];
  expect(ended()).toEqual([
    found,
    { ...denied, fields: { ...denied.fields, code: "unknown_function", rule: "roles" } },
    { ...failed, fields: { ...failed.fields, code: "function_failed" } },
  ]);
});

test("a call that ends before it starts is a line with its code too", async () => {
  const gate = gated();
  const { connection, ended } = await startLogged(fakeService({ answer: gate.answer }), 1);
  connection.send(callFrame("first"));
  await until(() => gate.started(1), "the first call");

  connection.send(callFrame("second"));
  connection.send({ type: "cancel", callId: "second", reason: "timed_out" });
  await connection.next("result");

  expect(ended()).toMatchObject([{ fields: { callId: "second", functionName: "echo", code: "timed_out" } }]);
  gate.open();
});

test("no line holds arguments, a context, a result, a message of a function, or a name that it does not have", async () => {
  const { connection, lines, ended } = await startLogged();

  for (const name of ["look_up", "refund", "fail", CANARY])
    await run(connection, `of-${ended().length}`, name, "clerk");

  expect(ended()).toHaveLength(4);
  expect(JSON.stringify(lines)).not.toContain(CANARY);
});
