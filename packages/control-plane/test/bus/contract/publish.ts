import { expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../../src/ports/bus.ts";
import { heardOn, type MakeEnds } from "../ends.ts";

export function publishContract(makeEnds: MakeEnds): void {
  test("a body reaches everyone subscribed to its subject, the publisher included, and nobody else", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const heard = [heardOn(here, "run.one"), heardOn(there, "run.one"), heardOn(there, "run.one")];
    const others = [heardOn(here, "run"), heardOn(there, "run.two"), heardOn(there, "run.one.more")];
    await settle();

    here.publish("run.one", { seq: 1, text: "größer 🎈" });
    await settle();

    for (const { bodies } of heard) expect(bodies).toEqual([{ seq: 1, text: "größer 🎈" }]);
    for (const { bodies } of others) expect(bodies).toEqual([]);
  });

  test("a subject reaches whoever is subscribed to it, here or elsewhere", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    using _here = heardOn(here, "run.one");
    using _there = heardOn(there, "run.two");
    await settle();

    expect(["run.one", "run.two"].map((subject) => here.reaches(subject))).toEqual([true, true]);
  });

  test("a subscriber in this process has the body when publish returns", async () => {
    await using ends = await makeEnds();
    const { bodies } = heardOn(ends.here, "run.one");

    ends.here.publish("run.one", 7);

    expect(bodies).toEqual([7]);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["false", false],
    ["an empty text", ""],
    ["a list", [1, [2], {}]],
  ])("%s is a body like any other", async (_, body) => {
    await using ends = await makeEnds();
    const { bodies } = heardOn(ends.there, "run.one");
    await ends.settle();

    ends.here.publish("run.one", body as null);
    await ends.settle();

    expect(bodies).toEqual([body]);
  });

  test("bodies arrive in the order they were published, each once", async () => {
    await using ends = await makeEnds();
    const heard = [heardOn(ends.here, "run.one"), heardOn(ends.there, "run.one")];
    await ends.settle();

    const sent = Array.from({ length: 2_000 }, (_, i) => i);
    for (const i of sent) ends.here.publish("run.one", i);
    await ends.settle();

    for (const { bodies } of heard) expect(bodies).toEqual(sent);
  });

  test("what a receiver publishes comes after what it is receiving, for everyone", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const before = heardOn(here, "run.one");
    here.subscribe("run.one", (body) => body === 1 && here.publish("run.one", 2));
    const after = [heardOn(here, "run.one"), heardOn(there, "run.one")];
    await settle();

    here.publish("run.one", 1);
    await settle();

    for (const { bodies } of [before, ...after])
      expect(bodies.filter((body) => body === 1 || body === 2)).toEqual([1, 2]);
  });

  test("a subscription hears what is published after it was made until it is disposed", async () => {
    await using ends = await makeEnds();
    const { here, there, settle } = ends;
    const other = heardOn(there, "run.one");
    await settle();
    here.publish("run.one", "before");
    await settle();
    const heard = heardOn(there, "run.one");
    await settle();
    here.publish("run.one", "while");
    await settle();
    heard[Symbol.dispose]();
    heard[Symbol.dispose]();
    here.publish("run.one", "after");
    await settle();

    expect(heard.bodies).toEqual(["while"]);
    expect(other.bodies).toEqual(["before", "while", "after"]);
  });

  test("a subject is heard again after its last subscription was disposed", async () => {
    await using ends = await makeEnds();
    heardOn(ends.there, "run.one")[Symbol.dispose]();
    const again = heardOn(ends.there, "run.one");
    await ends.settle();

    ends.here.publish("run.one", 1);
    await ends.settle();

    expect(again.bodies).toEqual([1]);
  });

  test("a receiver disposed by one that was called before it hears nothing", async () => {
    await using ends = await makeEnds();
    const first = ends.here.subscribe("run.one", () => second[Symbol.dispose]());
    const second = heardOn(ends.here, "run.one");

    ends.here.publish("run.one", 1);
    first[Symbol.dispose]();

    expect(second.bodies).toEqual([]);
  });

  test("a receiver that throws costs neither the publisher nor the other receivers anything", async () => {
    await using ends = await makeEnds();
    for (const bus of new Set([ends.here, ends.there]))
      bus.subscribe("run.one", () => {
        throw new Error("receiver failed");
      });
    const heard = [heardOn(ends.here, "run.one"), heardOn(ends.there, "run.one")];
    await ends.settle();

    ends.here.publish("run.one", 1);
    ends.here.publish("run.one", 2);
    await ends.settle();

    for (const { bodies } of heard) expect(bodies).toEqual([1, 2]);
  });

  test("a body of the largest size arrives everywhere, a larger one in this process", async () => {
    await using ends = await makeEnds();
    const here = heardOn(ends.here, "run.one");
    const there = heardOn(ends.there, "run.one");
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
    "the subject %j is refused as the mistake it is",
    async (subject) => {
      await using ends = await makeEnds();

      expect(() => ends.here.publish(subject, 1)).toThrow(TypeError);
      expect(() => ends.here.subscribe(subject, () => {})).toThrow(TypeError);
      expect(() => ends.here.serve(subject, async () => 1)).toThrow(TypeError);
      await expect(ends.here.request(subject, 1, { timeoutMs: 100 })).rejects.toThrow(TypeError);
    },
  );

  test("a closed bus hears and brings nothing, and may be closed again", async () => {
    await using ends = await makeEnds();
    const early = heardOn(ends.there, "run.one");
    await ends.settle();
    await Promise.all([ends.there.close(), ends.there.close()]);
    const late = heardOn(ends.there, "run.one");

    ends.there.publish("run.one", 1);
    ends.here.publish("run.one", 2);
    early[Symbol.dispose]();
    late[Symbol.dispose]();
    await ends.there.close();

    expect([...early.bodies, ...late.bodies]).toEqual([]);
  });
}
