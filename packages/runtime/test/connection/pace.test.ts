import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { silentLog } from "@patchbay/functions";
import { afterEach, expect, test, vi } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { Calls } from "../../src/connection/calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

afterEach(() => void vi.restoreAllMocks());

/** A service whose function reports progress `count` times in the same second. */
function reporting(count: number) {
  vi.spyOn(performance, "now").mockReturnValue(1_000);
  return fakeService({
    async answer(_, { onProgress }) {
      for (let i = 0; i < count; i++) onProgress?.(i);
      return { ok: true, value: "done" };
    },
  });
}

test.each([
  [{ framesPerSecond: 20 }, 10],
  [{}, DEFAULT_LIMITS.framesPerSecond / 2],
])("progress uses at most half of the accepted frames per second (%j)", async (welcome, sent) => {
  const started = await plane();
  runtimeOf(started.url, reporting(300));
  const connection = await started.welcome(welcome);

  connection.send(callFrame("c1"));
  await connection.next("result");

  expect(connection.inbox.rest).toHaveLength(sent);
});

test("results of a lost connection are resent at a quarter of the accepted rate, and immediately when queried", async () => {
  const lost = {
    open: true,
    isStale: false,
    framesPerSecond: 200,
    send() {},
    sendIfIdle() {},
    roundTrip: () => Promise.resolve(),
    close() {},
  };
  const sent: string[] = [];
  const next = { ...lost, send: (text: string) => void sent.push(text), framesPerSecond: 8 };
  const calls = new Calls({
    service: () => fakeService(),
    concurrency: 16,
    log: silentLog,
    currentConnection: () => lost,
    inSpan: (_span, work) => work(),
  });
  const ended = vi.spyOn(lost, "send");
  for (let i = 0; i < 5; i++) calls.receive(callFrame(`c${i}`), lost);
  await until(() => ended.mock.calls.length === 5, "the results");
  lost.open = false;

  calls.resend(next);
  expect(sent).toHaveLength(2);
  calls.query({ type: "callQuery", callId: "c4", attempt: 1 }, next);
  await until(() => sent.length === 6, "the rest");

  const frames = sent.map((text) => JSON.parse(text) as { type: string; callId: string });
  expect(frames.filter(({ type }) => type === "result").map(({ callId }) => callId)).toEqual([
    "c0",
    "c1",
    "c4",
    "c2",
    "c3",
  ]);
});
