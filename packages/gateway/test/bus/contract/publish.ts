import { expect, test } from "vitest";
import { MAX_BODY_BYTES } from "@patchbay/engine/ports/bus";
import { collectFrom, type MakeEnds } from "../ends.ts";

export function publishContract(makeEnds: MakeEnds): void {
  test("a body reaches every subscriber of its subject, the publisher included, and no subscriber of another subject", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const received = [collectFrom(here, "run.one"), collectFrom(there, "run.one"), collectFrom(there, "run.one")];
    const others = [collectFrom(here, "run"), collectFrom(there, "run.two"), collectFrom(there, "run.one.more")];
    await settle();

    here.publish("run.one", { seq: 1, text: "größer 🎈" });
    await settle();

    for (const { bodies } of received) expect(bodies).toEqual([{ seq: 1, text: "größer 🎈" }]);
    for (const { bodies } of others) expect(bodies).toEqual([]);
  });

  test("reaches is true for a subject with a subscriber in this process or another", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    using _here = collectFrom(here, "run.one");
    using _there = collectFrom(there, "run.two");
    await settle();

    expect(["run.one", "run.two"].map((subject) => here.reaches(subject))).toEqual([true, true]);
  });

  test("a subscriber in this process has the body when publish returns", async () => {
    await using ends = await makeEnds();
    const { bodies } = collectFrom(ends.here, "run.one");

    ends.here.publish("run.one", 7);

    expect(bodies).toEqual([7]);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["false", false],
    ["an empty string", ""],
    ["a list", [1, [2], {}]],
  ])("%s is a body like any other", async (_, body) => {
    await using ends = await makeEnds();
    const { bodies } = collectFrom(ends.there, "run.one");
    await ends.settle();

    ends.here.publish("run.one", body as null);
    await ends.settle();

    expect(bodies).toEqual([body]);
  });

  test("bodies arrive in the order they were published, each once", async () => {
    await using ends = await makeEnds();
    const received = [collectFrom(ends.here, "run.one"), collectFrom(ends.there, "run.one")];
    await ends.settle();

    const sent = Array.from({ length: 2_000 }, (_, i) => i);
    for (const i of sent) ends.here.publish("run.one", i);
    await ends.settle();

    for (const { bodies } of received) expect(bodies).toEqual(sent);
  });

  test("a body that a receiver publishes arrives after the one it is receiving, at every subscriber", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const before = collectFrom(here, "run.one");
    here.subscribe("run.one", (body) => body === 1 && here.publish("run.one", 2));
    const after = [collectFrom(here, "run.one"), collectFrom(there, "run.one")];
    await settle();

    here.publish("run.one", 1);
    await settle();

    for (const { bodies } of [before, ...after])
      expect(bodies.filter((body) => body === 1 || body === 2)).toEqual([1, 2]);
  });

  test("a subscription receives what is published between its start and its disposal", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const other = collectFrom(there, "run.one");
    await settle();
    here.publish("run.one", "before");
    await settle();
    const received = collectFrom(there, "run.one");
    await settle();
    here.publish("run.one", "while");
    await settle();
    received[Symbol.dispose]();
    received[Symbol.dispose]();
    here.publish("run.one", "after");
    await settle();

    expect(received.bodies).toEqual(["while"]);
    expect(other.bodies).toEqual(["before", "while", "after"]);
  });

  test("a new subscription receives after the last one of its subject was disposed", async () => {
    await using ends = await makeEnds();
    collectFrom(ends.there, "run.one")[Symbol.dispose]();
    const again = collectFrom(ends.there, "run.one");
    await ends.settle();

    ends.here.publish("run.one", 1);
    await ends.settle();

    expect(again.bodies).toEqual([1]);
  });

  test("a receiver that an earlier receiver disposes gets nothing", async () => {
    await using ends = await makeEnds();
    const first = ends.here.subscribe("run.one", () => second[Symbol.dispose]());
    const second = collectFrom(ends.here, "run.one");

    ends.here.publish("run.one", 1);
    first[Symbol.dispose]();

    expect(second.bodies).toEqual([]);
  });

  test("a receiver that throws affects neither the publisher nor the other receivers", async () => {
    await using ends = await makeEnds();
    for (const bus of new Set([ends.here, ends.there]))
      bus.subscribe("run.one", () => {
        throw new Error("receiver failed");
      });
    const received = [collectFrom(ends.here, "run.one"), collectFrom(ends.there, "run.one")];
    await ends.settle();

    ends.here.publish("run.one", 1);
    ends.here.publish("run.one", 2);
    await ends.settle();

    for (const { bodies } of received) expect(bodies).toEqual([1, 2]);
  });

  test("a body of the largest size arrives at every replica, a larger one only in this process", async () => {
    await using ends = await makeEnds();
    const here = collectFrom(ends.here, "run.one");
    const there = collectFrom(ends.there, "run.one");
    await ends.settle();
    const largest = "x".repeat(MAX_BODY_BYTES - 2);
    const larger = `${"x".repeat(MAX_BODY_BYTES - 3)}é`;

    ends.here.publish("run.one", largest);
    ends.here.publish("run.one", larger);
    await ends.settle();

    expect(here.bodies).toEqual([largest, larger]);
    expect(there.bodies).toEqual(ends.here === ends.there ? [largest, larger] : [largest]);
  });

  test.each(["", "run one", "run.*", "run.>", ".run", "run.", "run..one", "run\r\none"])(
    "the subject %j throws a TypeError",
    async (subject) => {
      await using ends = await makeEnds();

      expect(() => ends.here.publish(subject, 1)).toThrow(TypeError);
      expect(() => ends.here.subscribe(subject, () => {})).toThrow(TypeError);
      expect(() => ends.here.serve(subject, async () => 1)).toThrow(TypeError);
      await expect(ends.here.request(subject, 1, { timeoutMs: 100 })).rejects.toThrow(TypeError);
    },
  );

  test("a closed bus neither receives nor delivers, and may be closed again", async () => {
    await using ends = await makeEnds();
    const early = collectFrom(ends.there, "run.one");
    await ends.settle();
    await Promise.all([ends.there.close(), ends.there.close()]);
    const late = collectFrom(ends.there, "run.one");

    ends.there.publish("run.one", 1);
    ends.here.publish("run.one", 2);
    early[Symbol.dispose]();
    late[Symbol.dispose]();
    await ends.there.close();

    expect([...early.bodies, ...late.bodies]).toEqual([]);
  });
}
