import { expect, test } from "vitest";
import { callFrame, startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { gated, fakeService, untilAborted } from "@patchbay/test-support/fake-service";
import { plane, runtimeOf } from "./hand-plane.ts";

test("stop finishes open calls, refuses new ones, waits for acknowledgements and closes", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = fakeService({ answer: gate.answer });
  const runtime = runtimeOf(url, service, { concurrency: 8 });
  const connection = await welcome();
  for (let i = 0; i < 20; i++) connection.send(callFrame(`c${i}`));
  connection.send({ type: "callQuery", callId: "c19", attempt: 1 });
  await connection.next("callState");

  const { stop } = runtime; // as in process.once("SIGTERM", runtime.stop)
  const stopped = stop();
  await connection.next("draining");
  expect(runtime.state).toBe("draining");
  connection.send(callFrame("refused"));
  expect(await connection.next("callState")).toMatchObject({ callId: "refused", state: "unseen" });
  gate.open();
  for (let i = 0; i < 20; i++) {
    const { callId } = await connection.next("result");
    expect(runtime.state).toBe("draining");
    connection.send({ type: "resultAck", callId });
  }
  await stopped;

  expect(runtime.state).toBe("stopped");
  expect(await connection.closed).toBe(1000);
  expect(service.invoked).toHaveLength(20);
});

test("a call that crosses the stop of an idle runtime is refused before the connection closes", async () => {
  const { url, welcome } = await plane();
  const service = fakeService();
  const runtime = runtimeOf(url, service);
  const connection = await welcome();
  await runtime.ready;
  connection.send(callFrame("crossing"));

  await runtime.stop();

  expect(await connection.next("callState")).toMatchObject({ callId: "crossing", state: "unseen" });
  expect(await connection.closed).toBe(1000);
  expect(service.invoked).toHaveLength(0);
});

test("calls that are still open after the drain time are aborted", async () => {
  const { url, welcome } = await plane();
  const { answer, started } = untilAborted();
  const aborted = Promise.withResolvers<boolean>();
  const runtime = runtimeOf(
    url,
    fakeService({
      answer(invocation, options) {
        options.signal.addEventListener("abort", () => aborted.resolve(true));
        return answer(invocation, options);
      },
    }),
  );
  (await welcome()).send(callFrame("c1"));
  await started;

  await runtime.stop({ drainMs: 10 });

  expect(await aborted.promise).toBe(true);
});

test("ready rejects if the runtime is stopped before it is connected", async () => {
  const first = await startFakeControlPlane();
  await first[Symbol.asyncDispose]();
  const runtime = runtimeOf(first.url);

  await runtime.stop();

  await expect(runtime.ready).rejects.toThrow("stopped before it was connected");
});

test("an aborted signal stops the runtime without draining", async () => {
  const { url, welcome } = await plane();
  const abort = new AbortController();
  const runtime = runtimeOf(url, fakeService(), { signal: abort.signal });
  const connection = await welcome();
  await runtime.ready;

  abort.abort();

  expect(await connection.closed).toBe(1000);
  await runtime.stop();
  expect(runtime.state).toBe("stopped");
});

test("a second stop with a shorter drain time shortens the first", async () => {
  const { url, welcome } = await plane();
  const { answer, started } = untilAborted();
  const runtime = runtimeOf(url, fakeService({ answer }));
  (await welcome()).send(callFrame("c1"));
  await started;
  const stopped = runtime.stop();

  await runtime.stop({ drainMs: 0 });

  await stopped;
});
