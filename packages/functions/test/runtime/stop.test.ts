import { expect, test } from "vitest";
import { callFrame, startHandPlane } from "../../../../test/support/hand-plane.ts";
import { gated, handService, untilAborted } from "../../../../test/support/hand-service.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

test("stop finishes what it holds, takes nothing further, waits for acknowledgements and closes", async () => {
  const { url, welcome } = await plane();
  const gate = gated();
  const service = handService({ answer: gate.answer });
  const runtime = runtimeOf(url, service, { concurrency: 8 });
  const link = await welcome();
  for (let i = 0; i < 20; i++) link.send(callFrame(`c${i}`));
  link.send({ type: "callQuery", callId: "c19", attempt: 1 });
  await link.next("callState");

  const stopped = runtime.stop();
  await link.next("draining");
  expect(runtime.state).toBe("draining");
  link.send(callFrame("refused"));
  expect(await link.next("callState")).toMatchObject({ callId: "refused", state: "unseen" });
  gate.open();
  for (let i = 0; i < 20; i++) {
    const { callId } = await link.next("result");
    expect(runtime.state).toBe("draining");
    link.send({ type: "resultAck", callId });
  }
  await stopped;

  expect(runtime.state).toBe("stopped");
  expect(await link.closed).toBe(1000);
  expect(service.invoked).toHaveLength(20);
});

test("what is not done when the drain's time is over is aborted", async () => {
  const { url, welcome } = await plane();
  const { answer, started } = untilAborted();
  const aborted = Promise.withResolvers<boolean>();
  const runtime = runtimeOf(
    url,
    handService({
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

test("stopped before it was connected, ready rejects", async () => {
  const first = await startHandPlane();
  await first[Symbol.asyncDispose]();
  const runtime = runtimeOf(first.url);

  await runtime.stop();

  await expect(runtime.ready).rejects.toThrow("stopped before it was connected");
});

test("an aborted signal stops the runtime at once", async () => {
  const { url, welcome } = await plane();
  const abort = new AbortController();
  const runtime = runtimeOf(url, handService(), { signal: abort.signal });
  const link = await welcome();
  await runtime.ready;

  abort.abort();

  expect(await link.closed).toBe(1000);
  await runtime.stop();
  expect(runtime.state).toBe("stopped");
});

test("a second stop with less time cuts the first one short", async () => {
  const { url, welcome } = await plane();
  const { answer, started } = untilAborted();
  const runtime = runtimeOf(url, handService({ answer }));
  (await welcome()).send(callFrame("c1"));
  await started;
  const stopped = runtime.stop();

  await runtime.stop({ drainMs: 0 });

  await stopped;
});
