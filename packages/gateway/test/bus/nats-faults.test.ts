import { describe, expect, test } from "vitest";
import { createNatsBus } from "../../src/bus/nats-bus.ts";
import { NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import { until } from "@patchbay/test-support/inbox";
import { hasNatsServer, ownNats } from "@patchbay/test-support/nats";
import { collectFrom } from "./ends.ts";
import { recordingLog } from "./recording-log.ts";
import { randomPrefix, twoReplicas } from "./replicas.ts";

const SOON = { timeoutMs: 5_000 };

describe.skipIf(!hasNatsServer())("a NATS server", () => {
  test("that is killed and restarted loses only what was in transit", async () => {
    await using server = await ownNats();
    const log = recordingLog();
    await using ends = await twoReplicas(server.url, { log });
    const { here, there, settle } = ends;
    const received = collectFrom(there, "run.one");
    const own = collectFrom(here, "run.one");
    const begun = Promise.withResolvers<void>();
    there.serve("call.desk.one", async (body) => {
      if (body !== "hold") return body;
      begun.resolve();
      return new Promise(() => {});
    });
    here.serve("call.desk.own", async () => "own");
    await settle();
    expect([here.healthy, there.healthy]).toEqual([true, true]);

    const inProgress = here.request("call.desk.one", "hold", { timeoutMs: 60_000 });
    const lost = expect(inProgress).rejects.toThrow(RequestLost);
    await begun.promise;
    await server.kill9();
    await lost;
    await until(() => !here.healthy && !there.healthy, "both buses disconnect");

    await expect(here.request("call.desk.one", 1, SOON)).rejects.toThrow(NoResponders);
    here.publish("run.one", "while away");
    expect(own.bodies).toEqual(["while away"]);
    expect(await here.request("call.desk.own", 1, SOON)).toBe("own");
    const late = collectFrom(there, "run.two");

    await server.start();
    await until(() => here.healthy && there.healthy, "both are back");
    await settle();
    here.publish("run.one", "back");
    here.publish("run.two", "back");
    await settle();

    expect(received.bodies).toEqual(["back"]);
    expect(late.bodies).toEqual(["back"]);
    expect(await here.request("call.desk.one", "again", SOON)).toBe("again");
    for (const event of ["warn bus disconnected", "info bus reconnected"])
      expect(log.lines.filter((line) => line.startsWith(event))).toHaveLength(2);
  });

  test("that is stopped and started five times is used again each time, with one subscription", async () => {
    await using server = await ownNats();
    await using ends = await twoReplicas(server.url);
    const received = collectFrom(ends.there, "run.one");
    for (let round = 0; round < 5; round++) {
      await server.stop();
      await until(() => !ends.here.healthy && !ends.there.healthy, "both are cut off");
      await server.start();
      await until(() => ends.here.healthy && ends.there.healthy, "both are back");
      await ends.settle();
      ends.here.publish("run.one", round);
      await ends.settle();
    }
    expect(received.bodies).toEqual([0, 1, 2, 3, 4]);
  });

  test("that freezes is disconnected after two missed pings, and used again when it resumes", async () => {
    await using server = await ownNats();
    await using ends = await twoReplicas(server.url, { pingMs: 1_000 });
    const received = collectFrom(ends.there, "run.one");
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
    expect(received.bodies).toEqual(["back"]);
    expect(await ends.here.request("call.desk.one", 3, SOON)).toBe(3);
  });

  test("that takes nothing is sent a bounded amount, and used again once it has taken that", async () => {
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

  test("that is one of several is found when the others are down, also later", async () => {
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

  // Each of these waits for the start limit of five seconds, so they run concurrently.
  test.concurrent("that is not running yet delays the start for a limited time, and is used once it runs", async () => {
    await using server = await ownNats({ login: "ann:s3cret", args: ["--user", "ann", "--pass", "s3cret"] });
    await server.stop();
    const log = recordingLog();
    const prefix = randomPrefix();
    await using bus = await closing(createNatsBus(server.url, { prefix, log }));
    expect([bus.reached, bus.healthy]).toEqual([false, false]);
    const received = collectFrom(bus, "run.one");
    bus.serve("call.desk.one", async () => "served");
    bus.publish("run.one", "disconnected");
    expect(await bus.request("call.desk.one", 1, SOON)).toBe("served");
    await expect(bus.request("call.desk.two", 1, SOON)).rejects.toThrow(NoResponders);

    await server.start();
    await until(() => bus.reached && bus.healthy, "it is reached");
    await using other = await closing(createNatsBus(server.url, { prefix }));
    expect(await other.request("call.desk.one", 1, SOON)).toBe("served");
    other.publish("run.one", "connected");
    await until(() => received.bodies.length === 2, "the other's message");

    expect(received.bodies).toEqual(["disconnected", "connected"]);
    expect(log.lines).toEqual([
      expect.stringContaining("warn bus unreachable"),
      expect.stringContaining("info bus connected"),
    ]);
    expect(log.lines.join()).not.toContain("s3cret");
  });

  test.concurrent("that requires a token gets it, and a wrong token is logged as refused without its value", async () => {
    await using server = await ownNats({ login: "t0ken", args: ["--auth", "t0ken"] });
    await using bus = await closing(createNatsBus(server.url));
    expect(bus.healthy).toBe(true);

    const log = recordingLog();
    const opening = createNatsBus(`nats://wr0ng@127.0.0.1:${server.port}`, { log });
    await until(() => log.lines.length > 0, "the log of the refusal");
    expect(log.lines.join()).toMatch(/warn bus unreachable .*Authorization Violation/);
    expect(log.lines.join()).not.toContain("wr0ng");
    await (await opening).close();
  });

  test.concurrent("without TLS is not used when the address requires TLS", async () => {
    await using server = await ownNats();
    const log = recordingLog();
    const opening = createNatsBus(`tls://127.0.0.1:${server.port}`, { log });
    await until(() => log.lines.length > 0, "the log about TLS");
    expect(log.lines.join()).toMatch(/does not support 'tls'/);
    const bus = await opening;
    expect(bus.healthy).toBe(false);
    await bus.close();
  });
});

async function closing<Bus extends { close(): Promise<void> }>(opening: Promise<Bus>): Promise<Bus & AsyncDisposable> {
  const bus = await opening;
  // Not a spread copy: the state of a bus is in getters.
  return Object.defineProperty(bus, Symbol.asyncDispose, { value: () => bus.close() }) as Bus & AsyncDisposable;
}
