import { expect, test, vi } from "vitest";
import type { FollowedEvent } from "../../src/api/stream.ts";
import { isRunning, Lane, type LaneOptions, stateOf } from "../../src/pages/playground/lane.ts";
import { runSummary } from "./parts.ts";

const event = (event: FollowedEvent["event"]): FollowedEvent => ({
  event,
  seq: 1,
  raw: "",
  receivedAt: 0,
});
const failed = (code: "cancelled" | "internal") =>
  event({ type: "error", errorMessage: "It ended.", code, threadId: "thr_1", runId: "run_1" });

/** Streams whose events a test sends. */
function scripted() {
  const events = new TransformStream<FollowedEvent, FollowedEvent>();
  const writer = events.writable.getWriter();
  const started = Promise.withResolvers<() => void>();
  const requests: unknown[] = [];
  const streams: NonNullable<LaneOptions["streams"]> = {
    async *startQuery(body, { onRun, signal }) {
      requests.push(body);
      started.resolve(() => onRun?.("run_1", "thr_1"));
      signal.addEventListener("abort", () => void writer.abort(signal.reason).catch(() => undefined));
      yield* events.readable;
    },
    async *followRun(runId) {
      requests.push(runId);
      yield* events.readable;
    },
  };
  return {
    streams,
    requests,
    accept: async () => (await started.promise)(),
    send: (one: FollowedEvent) => writer.write(one),
  };
}

function laneOf({ streams, ...script }: ReturnType<typeof scripted>, cancel = vi.fn(async () => {})) {
  return { lane: new Lane({ agentId: "agt_1", cancel, streams }), cancel, ...script };
}

test("the thread of a query is known once the control plane accepts it", async () => {
  const { lane, accept, requests } = laneOf(scripted());

  void lane.send({ query: "How many?", role: "support" }, "support");
  await accept();

  expect(requests).toEqual([{ query: "How many?", role: "support" }]);
  expect(lane.state.get()).toMatchObject({
    threadId: "thr_1",
    exchanges: [{ query: "How many?", role: "support", runId: "run_1" }],
  });
});

test("events show as they arrive, and the last one ends the exchange", async () => {
  const { lane, send } = laneOf(scripted());
  void lane.send({ query: "How many?" });

  await send(event({ type: "responseDelta", content: "Two" }));
  await vi.waitFor(() => expect(lane.state.get().exchanges[0]?.transcript.answer).toBe("Two"));
  expect(lane.state.get().exchanges.map(stateOf)).toEqual(["running"]);

  await send(failed("internal"));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["failed"]));
});

test("an exchange waits while a call of it has to be approved", async () => {
  const { lane, send } = laneOf(scripted());
  void lane.send({ query: "Refund it" });
  const call = { toolCallId: "call_1", toolName: "refund", parameters: {} };
  const expiresAt = "2026-01-01T00:00:00.000Z";

  await send(event({ type: "toolCall", ...call }));
  await send(event({ type: "approvalRequest", ...call, approvalId: "apr_1", by: ["manager"], expiresAt }));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["waiting"]));

  await send(event({ type: "toolResult", ...call, success: true, result: 5 }));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["running"]));
});

test("a stop before the run has an id cancels the run when it gets one", async () => {
  const { lane, cancel, accept, send } = laneOf(scripted());
  void lane.send({ query: "How many?" });

  lane.stop();
  expect(cancel).not.toHaveBeenCalled();
  await accept();
  expect(cancel).toHaveBeenCalledWith("run_1");

  await send(failed("cancelled"));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["cancelled"]));
});

test("a query that cannot be sent keeps its error", async () => {
  const failure = new Error("No.");
  const lane = new Lane({
    agentId: "agt_1",
    cancel: async () => {},
    streams: {
      async *startQuery() {
        yield* [];
        throw failure;
      },
      async *followRun() {},
    },
  });

  void lane.send({ query: "How many?" });

  await vi.waitFor(() => expect(lane.state.get().exchanges[0]).toMatchObject({ error: failure }));
  expect(lane.state.get().exchanges.some(isRunning)).toBe(false);
});

test("runs of the previous thread are not shown after another thread is opened", async () => {
  const { lane, accept } = laneOf(scripted());
  void lane.send({ query: "How many?" });

  lane.open("thr_2");
  await accept();

  expect(lane.state.get()).toEqual({ threadId: "thr_2", exchanges: [] });
});

test("a run is followed only once", () => {
  const { lane, requests } = laneOf(scripted());
  const past = {
    run: runSummary({ status: "running" }),
    query: "q",
    answer: undefined,
    askedAt: "2026-01-01T00:00:00Z",
  };

  lane.follow(past);
  lane.follow(past);

  expect(lane.state.get().exchanges).toHaveLength(1);
  expect(requests).toEqual(["run_1"]);
});
