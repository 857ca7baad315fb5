import { expect, test } from "vitest";
import { MAX_BODY_BYTES, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import type { MakeEnds } from "../ends.ts";

const SOON = { timeoutMs: 5_000 };
/** Longer than a test may take: a request that waits for it fails the test. */
const NEVER = { timeoutMs: 600_000 };

export function requestContract(makeEnds: MakeEnds): void {
  test("a request is answered by the server of its subject", async () => {
    await using ends = await makeEnds();
    ends.there.serve("call.desk.one", async (body) => ({ asked: body }));
    await ends.settle();

    expect(await ends.here.request("call.desk.one", { callId: "call_1" }, SOON)).toEqual({
      asked: { callId: "call_1" },
    });
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["false", false],
    ["an empty string", ""],
    ["the largest body", "x".repeat(MAX_BODY_BYTES - 2)],
  ])("%s is a request and an answer like any other", async (_, body) => {
    await using ends = await makeEnds();
    ends.there.serve("call.desk.one", async (asked) => asked);
    await ends.settle();

    expect(await ends.here.request("call.desk.one", body as null, SOON)).toEqual(body);
  });

  test("simultaneous requests get their own answers, in whatever order these arrive", async () => {
    await using ends = await makeEnds();
    const releases: (() => void)[] = [];
    ends.there.serve("call.desk.one", async (body) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      releases.unshift(resolve);
      if (releases.length === 100) for (const release of releases) release();
      await promise;
      return body;
    });
    await ends.settle();

    const asked = Array.from({ length: 100 }, (_, i) => i);
    expect(await Promise.all(asked.map((i) => ends.here.request("call.desk.one", i, SOON)))).toEqual(asked);
  });

  test("each request goes to exactly one of several servers", async () => {
    await using ends = await makeEnds();
    const taken = [new Set<number>(), new Set<number>()];
    for (const mine of taken)
      ends.there.serve("call.desk.one", async (body) => {
        mine.add(body as number);
        return mine.size;
      });
    await ends.settle();

    for (let i = 0; i < 50; i++) await ends.here.request("call.desk.one", i, SOON);

    const [first = new Set(), second = new Set()] = taken;
    expect(first.size + second.size).toBe(50);
    expect(first.intersection(second).size).toBe(0);
    expect(Math.min(first.size, second.size)).toBeGreaterThan(0);
  });

  test("a request without a server is rejected with NoResponders within 50 ms", async () => {
    await using ends = await makeEnds();
    ends.there.subscribe("call.desk.one", () => {});
    ends.there.serve("call.desk.two", async () => 1);
    await ends.settle();

    await expect(ends.here.request("call.desk.one", 1, NEVER)).rejects.toThrow(NoResponders);
  });

  test("a disposed server gets no further requests, and its answer in progress is still sent", async () => {
    await using ends = await makeEnds();
    const asked: unknown[] = [];
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const serving = ends.there.serve("call.desk.one", async (body) => {
      asked.push(body);
      begun.resolve();
      await gate.promise;
      return "late";
    });
    await ends.settle();

    const inProgress = ends.here.request("call.desk.one", 1, SOON);
    await begun.promise;
    serving[Symbol.dispose]();
    serving[Symbol.dispose]();
    await expect(ends.here.request("call.desk.one", 2, SOON)).rejects.toThrow(NoResponders);
    gate.resolve();

    expect(await inProgress).toBe("late");
    expect(asked).toEqual([1]);
  });

  test("disposing one of two servers leaves the other", async () => {
    await using ends = await makeEnds();
    ends.there.serve("call.desk.one", async () => "first")[Symbol.dispose]();
    ends.there.serve("call.desk.one", async () => "second");
    await ends.settle();

    expect(await ends.here.request("call.desk.one", 1, SOON)).toBe("second");
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("no database"))],
    [
      "throws",
      () => {
        throw new NoResponders("of another request");
      },
    ],
  ])("an answer that %s rejects the request with RequestLost immediately", async (_, fail: () => Promise<never>) => {
    await using ends = await makeEnds();
    ends.there.serve("call.desk.one", fail);
    await ends.settle();

    await expect(ends.here.request("call.desk.one", 1, NEVER)).rejects.toThrow(RequestLost);
  });

  test("a request without an answer in time is rejected with RequestLost, and the late answer is ignored", async () => {
    await using ends = await makeEnds();
    const gate = Promise.withResolvers<void>();
    ends.there.serve("call.desk.one", async (body) => {
      if (body === "slow") await gate.promise;
      return body;
    });
    await ends.settle();

    await expect(ends.here.request("call.desk.one", "slow", { timeoutMs: 30 })).rejects.toThrow(RequestLost);
    gate.resolve();

    expect(await ends.here.request("call.desk.one", "next", SOON)).toBe("next");
  });

  test("an aborted request is rejected with the reason, and its server continues", async () => {
    await using ends = await makeEnds();
    const stop = new AbortController();
    const answered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    ends.there.serve("call.desk.one", async () => {
      stop.abort(new Error("client left"));
      await gate.promise;
      answered.resolve();
      return 1;
    });
    await ends.settle();

    const request = ends.here.request("call.desk.one", 1, { ...SOON, signal: stop.signal });
    await expect(request).rejects.toThrow("client left");
    gate.resolve();

    await answered.promise;
  });

  test("a request whose signal is already aborted reaches no server", async () => {
    await using ends = await makeEnds();
    const asked: unknown[] = [];
    ends.there.serve("call.desk.one", async (body) => {
      asked.push(body);
      return 1;
    });
    await ends.settle();

    const signal = AbortSignal.abort(new Error("too late"));
    await expect(ends.here.request("call.desk.one", "aborted", { ...SOON, signal })).rejects.toThrow("too late");
    await ends.here.request("call.desk.one", "next", SOON);

    expect(asked).toEqual(["next"]);
  });

  test("a closed bus answers no requests and sends none", async () => {
    await using ends = await makeEnds();
    ends.there.serve("call.desk.one", async () => 1);
    await ends.settle();
    await ends.there.close();
    ends.there.serve("call.desk.two", async () => 1)[Symbol.dispose]();

    await expect(ends.there.request("call.desk.one", 1, SOON)).rejects.toThrow(NoResponders);
    await expect(ends.here.request("call.desk.one", 1, SOON)).rejects.toThrow(NoResponders);
  });
}
