import { setImmediate as nextImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventStream, type EventStreamOptions, queryTranslator } from "../../src/kernel/event-stream.ts";
import type { Followed } from "@patchbay/engine/run/api";

/** A followed run that a test drives: `push` hands out an event at once, `end` ends the log. */
function drivenRun() {
  const waiting: ((step: IteratorResult<Followed[]>) => void)[] = [];
  const queued: IteratorResult<Followed[]>[] = [];
  let asked = 0;
  const settle = (step: IteratorResult<Followed[]>) => {
    const next = waiting.shift();
    if (next) next(step);
    else queued.push(step);
  };
  const iterator: AsyncIterator<Followed[]> = {
    next() {
      asked++;
      const step = queued.shift();
      return step ? Promise.resolve(step) : new Promise((resolve) => waiting.push(resolve));
    },
    return: async () => ({ done: true, value: undefined }),
  };
  return {
    follow: () => ({ [Symbol.asyncIterator]: () => iterator }),
    push: (body: string, id?: number) => settle({ done: false, value: [{ body, ...(id !== undefined && { id }) }] }),
    pushTogether: (...bodies: string[]) => settle({ done: false, value: bodies.map((body) => ({ body })) }),
    end: () => settle({ done: true, value: undefined }),
    asked: () => asked,
  };
}

function open(run: ReturnType<typeof drivenRun>, more: Partial<EventStreamOptions> = {}) {
  const ended: string[] = [];
  const stream = eventStream({
    follow: run.follow,
    translator: queryTranslator(),
    revoked: new AbortController().signal,
    clock: { now: () => Date.now(), sleep: () => Promise.reject(new Error("not used here")) },
    keepaliveMs: 10_000,
    maxAgeMs: 60_000,
    cut() {},
    onEnd: () => void ended.push("ended"),
    onFailure: () => void ended.push("failed"),
    ...more,
  });
  const reader = stream.getReader();
  const read = async () => Buffer.from((await reader.read()).value ?? []).toString();
  return { reader, read, ended };
}

test("events of one tick are one chunk", async () => {
  const run = drivenRun();
  const { read } = open(run);
  const chunk = read();
  run.push("1", 1);
  run.push("2", 2);
  run.push("3");
  expect(await chunk).toBe("id: 1\ndata: 1\n\nid: 2\ndata: 2\n\ndata: 3\n\n");
});

test("no event is requested before the client reads", async () => {
  const run = drivenRun();
  open(run);
  await nextImmediate();
  expect(run.asked()).toBe(0);
});

test("no more than 64 KiB and one event are read ahead", async () => {
  const run = drivenRun();
  const { read } = open(run);
  for (let i = 1; i <= 100; i++) run.push("x".repeat(8192), i);
  await read();
  await nextImmediate();
  expect(run.asked()).toBeLessThanOrEqual(9);
});

test("a client may disconnect while an event is being read", async () => {
  const run = drivenRun();
  const { read, reader, ended } = open(run);
  const chunk = read();
  run.push("1", 1);
  await Promise.resolve();
  await Promise.resolve();
  await reader.cancel();
  await nextImmediate();
  await nextImmediate();
  expect(await chunk).toBe("");
  expect(ended).toEqual(["ended"]);
});

test("a failing translation ends the stream like a failing store", async () => {
  const run = drivenRun();
  const { read, ended } = open(run, {
    translator: queryTranslator(() => {
      throw new Error("odd event");
    }),
  });
  const chunk = read();
  run.push("{}", 1);
  expect(await chunk).toBe("retry: 1000\n\n");
  expect(await read()).toBe("");
  expect(ended).toEqual(["failed", "ended"]);
});

test("a translator begins and ends the stream, and writes any number of frames for an event", async () => {
  const run = drivenRun();
  const { read } = open(run, {
    translator: {
      open: () => "data: open\n\n",
      event: ({ body }) => (body === "0" ? "" : `data: ${body}\n\n`.repeat(Number(body))),
      close: () => "data: [DONE]\n\n",
    },
  });
  expect(await read()).toBe("data: open\n\n");
  const chunk = read();
  run.push("0", 1);
  run.push("2", 2);
  expect(await chunk).toBe("data: 2\n\ndata: 2\n\n");
  const rest = read();
  run.end();
  expect(await rest).toBe("data: [DONE]\n\n");
  expect(await read()).toBe("");
});

test("a slow translation of an event holds back the events after it, and none before", async () => {
  const run = drivenRun();
  const slow = Promise.withResolvers<string>();
  const event = ({ body }: Followed) => (body === "slow" ? slow.promise : `${body}.`);
  const { read } = open(run, { translator: { open: () => "", event, close: () => "end" } });
  const first = read();
  run.pushTogether("1", "2", "slow", "3");
  expect(await first).toBe("1.2.");

  const second = read();
  slow.resolve("translated.");
  expect(await second).toBe("translated.3.");
  const last = read();
  run.end();
  expect(await last).toBe("end");
});

test("no event is sent after the one that ends a translator", async () => {
  const run = drivenRun();
  let ended = false;
  const event = ({ body }: Followed) => {
    ended = body === "2";
    return body;
  };
  const translator = {
    open: () => "",
    event,
    close: () => ";",
    get ended() {
      return ended;
    },
  };
  const { read } = open(run, { translator });
  const chunk = read();
  run.pushTogether("1", "2", "3");
  expect(await chunk).toBe("12;");
});

test("a client that has lost its access gets no end of a translator", async () => {
  const run = drivenRun();
  const access = new AbortController();
  const { read } = open(run, {
    revoked: access.signal,
    translator: { open: () => "data: open\n\n", event: () => "", close: () => "data: [DONE]\n\n" },
  });
  access.abort();
  expect(await read()).toBe("retry: 1000\n\n");
});

test("onEnd is called once, after the last event", async () => {
  const run = drivenRun();
  const { read, ended } = open(run);
  const chunk = read();
  run.push('{"type":"error"}', 1);
  await nextImmediate();
  run.end();
  expect(await chunk).toBe('id: 1\ndata: {"type":"error"}\n\n');
  expect(await read()).toBe("");
  expect(ended).toEqual(["ended"]);
});
