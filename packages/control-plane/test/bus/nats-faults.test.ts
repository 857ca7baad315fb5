import { describe, expect, test } from "vitest";
import { createNatsBus } from "../../src/bus/nats-bus.ts";
import { NoResponders, RequestLost } from "../../src/ports/bus.ts";
import { until } from "../../../../test/support/inbox.ts";
import { hasNatsServer, ownNats } from "../../../../test/support/nats.ts";
import { heardOn } from "./ends.ts";
import { recordingLog } from "./recording-log.ts";
import { randomPrefix, twoReplicas } from "./replicas.ts";

const SOON = { timeoutMs: 5_000 };

describe.skipIf(!hasNatsServer())("a NATS server", () => {
  test("that is killed and comes back costs what was on its way, and nothing else", async () => {
    await using server = await ownNats();
    const log = recordingLog();
    await using ends = await twoReplicas(server.url, { log });
    const { here, there, settle } = ends;
    const heard = heardOn(there, "run.one");
    const own = heardOn(here, "run.one");
    const begun = Promise.withResolvers<void>();
    there.serve("call.desk.one", async (body) => {
      if (body !== "hold") return body;
      begun.resolve();
      return new Promise(() => {});
    });
    here.serve("call.desk.own", async () => "own");
    await settle();
    expect([here.healthy, there.healthy]).toEqual([true, true]);

    const underWay = here.request("call.desk.one", "hold", { timeoutMs: 60_000 });
    const lost = expect(underWay).rejects.toThrow(RequestLost);
    await begun.promise;
    await server.kill9();
    await lost;
    await until(() => !here.healthy && !there.healthy, "both know themselves cut off");

    await expect(here.request("call.desk.one", 1, SOON)).rejects.toThrow(NoResponders);
    here.publish("run.one", "while away");
    expect(own.bodies).toEqual(["while away"]);
    expect(await here.request("call.desk.own", 1, SOON)).toBe("own");
    const late = heardOn(there, "run.two");

    await server.start();
    await until(() => here.healthy && there.healthy, "both are back");
    await settle();
    here.publish("run.one", "back");
    here.publish("run.two", "back");
    await settle();

    expect(heard.bodies).toEqual(["back"]);
    expect(late.bodies).toEqual(["back"]);
    expect(await here.request("call.desk.one", "again", SOON)).toBe("again");
    for (const word of ["warn bus lost", "info bus back"])
      expect(log.lines.filter((line) => line.startsWith(word))).toHaveLength(2);
  });

  test("that is stopped and started five times is used again each time, on one connection", async () => {
    await using server = await ownNats();
    await using ends = await twoReplicas(server.url);
    const heard = heardOn(ends.there, "run.one");
    for (let round = 0; round < 5; round++) {
      await server.stop();
      await until(() => !ends.here.healthy && !ends.there.healthy, "both are cut off");
      await server.start();
      await until(() => ends.here.healthy && ends.there.healthy, "both are back");
      await ends.settle();
      ends.here.publish("run.one", round);
      await ends.settle();
    }
    expect(heard.bodies).toEqual([0, 1, 2, 3, 4]);
  });

  test("that is frozen is left after two pings without an answer, and used again when it thaws", async () => {
    await using server = await ownNats();
    await using ends = await twoReplicas(server.url, { pingMs: 100 });
    const heard = heardOn(ends.there, "run.one");
    ends.there.serve("call.desk.one", async (body) => body);
    await ends.settle();

    await server.pause();
    await expect(ends.here.request("call.desk.one", 1, { timeoutMs: 50 })).rejects.toThrow(RequestLost);
    await until(() => !ends.here.healthy && !ends.there.healthy, "both notice");
    await expect(ends.here.request("call.desk.one", 2, SOON)).rejects.toThrow(NoResponders);

    server.resume();
    await until(() => ends.here.healthy && ends.there.healthy, "both are back");
    await ends.settle();
    ends.here.publish("run.one", "back");
    await ends.settle();
    expect(heard.bodies).toEqual(["back"]);
    expect(await ends.here.request("call.desk.one", 3, SOON)).toBe(3);
  });

  test("that takes nothing is not given more than a bounded amount, and used again once it has taken that", async () => {
    await using server = await ownNats();
    await using ends = await twoReplicas(server.url, { pingMs: 60_000 });
    const body = "x".repeat(200_000);

    await server.pause();
    for (let i = 0; i < 200; i++) ends.here.publish("run.one", body);
    expect(ends.here.healthy).toBe(false);
    await expect(ends.here.request("settle.there", null, SOON)).rejects.toThrow(NoResponders);

    server.resume();
    await until(() => ends.here.healthy, "it carries again");
    await ends.settle();
  });

  test("that is one of several addresses is found when the others are down, also later", async () => {
    await using first = await ownNats();
    await using second = await ownNats({ login: "ann:s3cret", args: ["--user", "ann", "--pass", "s3cret"] });
    await first.stop();
    await using bus = await closing(createNatsBus(`${first.url},${second.url}`));
    expect(bus.healthy).toBe(true);

    await first.start();
    await second.stop();
    await until(() => !bus.healthy, "the second is gone");
    await until(() => bus.healthy, "the first is used");
  });

  // These wait as long as a start may, so they wait together.
  test.concurrent("that is not there yet holds no start up for long, and is used as soon as it is", async () => {
    await using server = await ownNats({ login: "ann:s3cret", args: ["--user", "ann", "--pass", "s3cret"] });
    await server.stop();
    const log = recordingLog();
    const prefix = randomPrefix();
    const began = performance.now();
    await using bus = await closing(createNatsBus(server.url, { prefix, log }));
    expect(performance.now() - began).toBeLessThan(6_000);
    expect([bus.reached, bus.healthy]).toEqual([false, false]);
    const heard = heardOn(bus, "run.one");
    bus.serve("call.desk.one", async () => "served");
    bus.publish("run.one", "alone");
    expect(await bus.request("call.desk.one", 1, SOON)).toBe("served");
    await expect(bus.request("call.desk.two", 1, SOON)).rejects.toThrow(NoResponders);

    await server.start();
    await until(() => bus.reached && bus.healthy, "it is reached");
    await using other = await closing(createNatsBus(server.url, { prefix }));
    expect(await other.request("call.desk.one", 1, SOON)).toBe("served");
    other.publish("run.one", "together");
    await until(() => heard.bodies.length === 2, "the other's word");

    expect(heard.bodies).toEqual(["alone", "together"]);
    expect(log.lines).toEqual([
      expect.stringContaining("warn bus not reached"),
      expect.stringContaining("info bus connected"),
    ]);
    expect(log.lines.join()).not.toContain("s3cret");
  });

  test.concurrent("that asks for a token is given it, and a wrong one is said without being shown", async () => {
    await using server = await ownNats({ login: "t0ken", args: ["--auth", "t0ken"] });
    await using bus = await closing(createNatsBus(server.url));
    expect(bus.healthy).toBe(true);

    const log = recordingLog();
    const opening = createNatsBus(`nats://wr0ng@127.0.0.1:${server.port}`, { log });
    await until(() => log.lines.length > 0, "a word about the refusal");
    expect(log.lines.join()).toMatch(/warn bus not reached .*Authorization Violation/);
    expect(log.lines.join()).not.toContain("wr0ng");
    await (await opening).close();
  });

  test.concurrent("without TLS is not used where the address asks for it", async () => {
    await using server = await ownNats();
    const log = recordingLog();
    const opening = createNatsBus(`tls://127.0.0.1:${server.port}`, { log });
    await until(() => log.lines.length > 0, "a word about TLS");
    expect(log.lines.join()).toMatch(/does not support 'tls'/);
    const bus = await opening;
    expect(bus.healthy).toBe(false);
    await bus.close();
  });
});

async function closing<Bus extends { close(): Promise<void> }>(opening: Promise<Bus>): Promise<Bus & AsyncDisposable> {
  const bus = await opening;
  // Not spread: what a bus is at the moment stands in getters.
  return Object.defineProperty(bus, Symbol.asyncDispose, { value: () => bus.close() }) as Bus & AsyncDisposable;
}
