import { expect, test, vi } from "vitest";
import type { FollowedEvent } from "../../src/api/stream.ts";
import { createLane, isRunning, stateOf, type LaneDeps } from "../../src/pages/playground/lane.ts";
import { runSummary } from "./parts.ts";

const event = (event: FollowedEvent["event"]): FollowedEvent => ({
  event,
  seq: 1,
  raw: "",
  receivedAt: performance.now(),
});
const failed = (code: "cancelled" | "internal") =>
  event({ type: "error", errorMessage: "It ended.", code, threadId: "thr_1", runId: "run_1" });

/** A stream that tests feed by hand. */
function scripted() {
  const events = new TransformStream<FollowedEvent, FollowedEvent>();
  const writer = events.writable.getWriter();
  const begun = Promise.withResolvers<() => void>();
  const asked: unknown[] = [];
  const streams: NonNullable<LaneDeps["streams"]> = {
    async *startQuery(body, { onRun, signal }) {
      asked.push(body);
      begun.resolve(() => onRun?.("run_1", "thr_1"));
      signal.addEventListener("abort", () => void writer.abort(signal.reason).catch(() => undefined));
      yield* events.readable;
    },
    async *followRun(runId) {
      asked.push(runId);
      yield* events.readable;
    },
  };
  return {
    streams,
    asked,
    takeUp: async () => (await begun.promise)(),
    send: (one: FollowedEvent) => writer.write(one),
  };
}

function laneOf({ streams, ...script }: ReturnType<typeof scripted>, cancel = vi.fn(async () => {})) {
  return { lane: createLane({ agentId: "agt_1", cancel, streams }), cancel, ...script };
}

test("a query's thread is known as soon as the service has taken it", async () => {
  const { lane, takeUp, asked } = laneOf(scripted());

  lane.send({ query: "How many?", role: "support" });
  await takeUp();

  expect(asked).toEqual([{ query: "How many?", role: "support" }]);
  expect(lane.state.get()).toMatchObject({
    threadId: "thr_1",
    exchanges: [{ query: "How many?", role: "support", runId: "run_1" }],
  });
});

test("events show as they come, and the last one ends the exchange", async () => {
  const { lane, send } = laneOf(scripted());
  lane.send({ query: "How many?" });

  await send(event({ type: "responseDelta", content: "Two" }));
  await vi.waitFor(() => expect(lane.state.get().exchanges[0]?.told.answer).toBe("Two"));
  expect(lane.state.get().exchanges.map(stateOf)).toEqual(["running"]);

  await send(failed("internal"));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["failed"]));
});

test("a stop that comes before the run has an id is sent when it has one", async () => {
  const { lane, cancel, takeUp, send } = laneOf(scripted());
  lane.send({ query: "How many?" });

  lane.stop();
  expect(cancel).not.toHaveBeenCalled();
  await takeUp();
  expect(cancel).toHaveBeenCalledWith("run_1");

  await send(failed("cancelled"));
  await vi.waitFor(() => expect(lane.state.get().exchanges.map(stateOf)).toEqual(["cancelled"]));
});

test("a query that could not be sent says why", async () => {
  const refused = new Error("No.");
  const lane = createLane({
    agentId: "agt_1",
    cancel: async () => {},
    streams: {
      async *startQuery() {
        yield* [];
        throw refused;
      },
      async *followRun() {},
    },
  });

  lane.send({ query: "How many?" });

  await vi.waitFor(() => expect(lane.state.get().exchanges[0]).toMatchObject({ error: refused }));
  expect(lane.state.get().exchanges.some(isRunning)).toBe(false);
});

test("what ran for another thread is not shown when a new one is opened", async () => {
  const { lane, takeUp } = laneOf(scripted());
  lane.send({ query: "How many?" });

  lane.open("thr_2");
  await takeUp();

  expect(lane.state.get()).toEqual({ threadId: "thr_2", exchanges: [] });
});

test("a run is taken up once, however often it is seen", () => {
  const { lane, asked } = laneOf(scripted());
  const past = {
    run: runSummary({ status: "running" }),
    query: "q",
    answer: undefined,
    askedAt: "2026-01-01T00:00:00Z",
  };

  lane.follow(past);
  lane.follow(past);

  expect(lane.state.get().exchanges).toHaveLength(1);
  expect(asked).toEqual(["run_1"]);
});
