import { connect } from "@nats-io/transport-node";
import { describe, expect, test } from "vitest";
import { createNatsBus } from "../../src/bus/nats-bus.ts";
import { reachesNats } from "../../src/bus/nats-server.ts";
import { MAX_BODY_BYTES, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import { until } from "@patchbay/test-support/inbox";
import { testNats } from "@patchbay/test-support/nats";
import { busContract } from "./contract.ts";
import { collectFrom, oneBus } from "./ends.ts";
import { recordingLog } from "./recording-log.ts";
import { randomPrefix, twoReplicas } from "./replicas.ts";

const url = (await testNats()) ?? "";
const SOON = { timeoutMs: 5_000 };

describe.skipIf(url === "")("one process on a NATS server", () => {
  busContract(async () => oneBus(await createNatsBus(url, { prefix: randomPrefix() })));
});

describe.skipIf(url === "")("two replicas on a NATS server", () => {
  busContract(() => twoReplicas(url));
});

describe.skipIf(url === "")("on a NATS server", () => {
  test("each request goes to exactly one of several replicas that serve its subject", async () => {
    const prefix = randomPrefix();
    await using ends = await twoReplicas(url, { prefix });
    await using more = await twoReplicas(url, { prefix });
    const taken: number[][] = [[], [], []];
    for (const [i, bus] of [ends.there, more.here, more.there].entries())
      bus.serve("call.desk.one", async (body) => taken[i]?.push(body as number) ?? 0);
    await ends.settle();
    await more.settle();

    for (let i = 0; i < 60; i++) await ends.here.request("call.desk.one", i, SOON);

    expect(taken.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i));
    expect(taken.filter((mine) => mine.length > 0).length).toBeGreaterThan(1);
  });

  test("a server in this process is asked before any other", async () => {
    await using ends = await twoReplicas(url);
    ends.there.serve("call.desk.one", async () => "there");
    await ends.settle();
    expect(await ends.here.request("call.desk.one", 1, SOON)).toBe("there");

    using serving = ends.here.serve("call.desk.one", async () => "here");
    await ends.settle();
    for (let i = 0; i < 20; i++) expect(await ends.here.request("call.desk.one", i, SOON)).toBe("here");
    serving[Symbol.dispose]();

    expect(await ends.here.request("call.desk.one", 1, SOON)).toBe("there");
  });

  test("deployments with different prefixes on one NATS server are separate", async () => {
    await using ours = await twoReplicas(url);
    await using theirs = await twoReplicas(url);
    const received = collectFrom(theirs.there, "run.one");
    theirs.there.serve("call.desk.one", async () => 1);
    await theirs.settle();

    ours.here.publish("run.one", 1);
    await expect(ours.here.request("call.desk.one", 1, SOON)).rejects.toThrow(NoResponders);
    await theirs.settle();

    expect(received.bodies).toEqual([]);
  });

  test("a message that is not JSON is ignored with one warning, and later ones arrive", async () => {
    const prefix = randomPrefix();
    const log = recordingLog();
    await using ends = await twoReplicas(url, { prefix, log });
    const received = collectFrom(ends.there, "run.one");
    ends.there.serve("call.desk.one", async (body) => body);
    await ends.settle();
    const stranger = await connect({ servers: url });

    for (const body of ["{", "", "\u0000", "undefined"]) stranger.publish(`${prefix}.pub.run.one`, body);
    await expect(stranger.request(`${prefix}.ask.call.desk.one`, "{", { timeout: 50 })).rejects.toThrow();
    await stranger.close();
    ends.here.publish("run.one", "sound");
    await ends.settle();

    expect(received.bodies).toEqual(["sound"]);
    expect(await ends.here.request("call.desk.one", "sound", SOON)).toBe("sound");
    expect(log.lines.filter((line) => line.startsWith("warn"))).toEqual([expect.stringContaining("non-JSON")]);
  });

  test.each(["", "{", "[]", "{}", "7"])(
    "the malformed reply %j rejects the request with RequestLost",
    async (reply) => {
      const prefix = randomPrefix();
      await using ends = await twoReplicas(url, { prefix });
      const stranger = await connect({ servers: url });
      stranger.subscribe(`${prefix}.ask.call.desk.one`, { callback: (_, message) => void message.respond(reply) });
      await stranger.flush();

      await expect(ends.here.request("call.desk.one", 1, SOON)).rejects.toThrow(RequestLost);
      await stranger.close();
    },
  );

  test("a request that is too large reaches no other replica, and an answer that is too large is RequestLost", async () => {
    await using ends = await twoReplicas(url);
    const asked: unknown[] = [];
    ends.there.serve("call.desk.one", async (body) => {
      asked.push(body);
      return "x".repeat(MAX_BODY_BYTES);
    });
    await ends.settle();

    await expect(ends.here.request("call.desk.one", "x".repeat(MAX_BODY_BYTES), SOON)).rejects.toThrow(NoResponders);
    await expect(ends.here.request("call.desk.one", "small", SOON)).rejects.toThrow(RequestLost);

    expect(asked).toEqual(["small"]);
  });

  test("a closing bus sends its answers in progress and takes no further requests", async () => {
    await using ends = await twoReplicas(url);
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    ends.there.serve("call.desk.one", async () => {
      begun.resolve();
      await gate.promise;
      return "last";
    });
    await ends.settle();

    const inProgress = ends.here.request("call.desk.one", 1, SOON);
    await begun.promise;
    const closed = ends.there.close();
    await expect(ends.here.request("call.desk.one", 2, SOON)).rejects.toThrow(NoResponders);
    gate.resolve();

    expect(await inProgress).toBe("last");
    await closed;
    expect(ends.there.healthy).toBe(false);
  });

  test("bodies that were published just before the bus was closed still arrive", async () => {
    await using ends = await twoReplicas(url);
    const received = collectFrom(ends.there, "run.one");
    await ends.settle();

    for (let i = 0; i < 1_000; i++) ends.here.publish("run.one", i);
    await ends.here.close();

    await until(() => received.bodies.length === 1_000, "all bodies");
  });

  test("an answer that never ends does not keep the bus from closing", async () => {
    await using ends = await twoReplicas(url);
    const begun = Promise.withResolvers<void>();
    ends.there.serve("call.desk.one", () => {
      begun.resolve();
      return new Promise(() => {});
    });
    await ends.settle();
    const lost = expect(ends.here.request("call.desk.one", 1, { timeoutMs: 100 })).rejects.toThrow(RequestLost);
    await begun.promise;
    await lost;

    await ends.there.close();
  });

  test("reachesNats is true when one of its addresses accepts a connection, else false", async () => {
    expect(await reachesNats(url)).toBe(true);
    expect(await reachesNats(`nats://127.0.0.1:1,${url}`)).toBe(true);
    expect(await reachesNats("nats://127.0.0.1:1")).toBe(false);
  });
});
