import { expect, test } from "vitest";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { failing, openWorld, sampleCall, sampleRequest, type MakePlace, type World } from "./world.ts";

/** No role, no subject. */
const NOBODY = { role: undefined, subject: undefined };

export function historyContract(place: MakePlace): void {
  test("history contains the newest turns of the same role and subject, oldest first", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ request: sampleRequest({ role: "customer" }), subject: "u1" });
    const { threadId } = first;
    await world.finish(first, {}, "one");
    const turn = async (response: string, role?: string, subject?: string) => {
      const run = await world.start({
        threadId,
        request: sampleRequest(role === undefined ? {} : { role }),
        ...(subject !== undefined && { subject }),
      });
      await world.finish(run, {}, response);
    };
    await turn("manager's", "manager", "u1");
    await turn("another's", "customer", "u2");
    await turn("roleless", undefined, "u1");
    await turn("subjectless", "customer");
    await turn("two", "customer", "u1");
    await turn("three", "customer", "u1");

    const historyOf = async (role: string | undefined, subject: string | undefined) => {
      const { entries } = await world.store.runs.history(threadId, { role, subject, maxBytes: 10_000 });
      return entries.map(({ messages }) => messages.at(-1));
    };

    expect(await historyOf("customer", "u1")).toMatchObject([{ text: "one" }, { text: "two" }, { text: "three" }]);
    expect(await historyOf("customer", undefined)).toMatchObject([{ text: "subjectless" }]);
    expect(await historyOf(undefined, "u1")).toMatchObject([{ text: "roleless" }]);
    expect(await historyOf(undefined, undefined)).toEqual([]);
  });

  test("a failed run is history only when a call of it has an outcome", async () => {
    await using world = await openWorld(place);
    const idle = await world.start();
    const { threadId } = idle;
    await world.finish(idle, failing(idle));
    const intended = await world.start({ threadId });
    await world.store.runs.commit(intended, { calls: [sampleCall("c1")] });
    await world.finish(intended, failing(intended));
    const acted = await world.start({ threadId });
    await world.store.runs.commit(acted, { calls: [sampleCall("c2", { outcome: { ok: true, value: 1 } })] });
    await world.finish(acted, failing(acted));
    await world.start({ threadId });

    const scope = { role: undefined, subject: undefined, maxBytes: 10_000 };
    const { entries } = await world.store.runs.history(threadId, scope);

    expect(entries.map(({ runId }) => runId)).toEqual([acted.runId]);
  });

  test("history contains as many of the newest runs as fit", async () => {
    await using world = await openWorld(place);
    const { threadId } = await ended(world, "0");
    for (let i = 1; i < 300; i++) await ended(world, String(i), threadId);
    const answers = async (maxBytes: number) => {
      const history = await world.store.runs.history(threadId, { ...NOBODY, maxBytes });
      return {
        ...history,
        entries: history.entries.map(({ messages: [, last] }) => last && "text" in last && last.text),
      };
    };
    const bytes = (answer: number) => Buffer.byteLength(JSON.stringify(messagesOf(String(answer))));
    const all = Array.from({ length: 300 }, (_, i) => i);
    const totalBytes = all.reduce((sum, one) => sum + bytes(one), 0);

    expect(await answers(1_000_000)).toEqual({ entries: all.map(String), hasOlder: false, totalBytes });
    expect(await answers(3 * bytes(299))).toEqual({ entries: ["297", "298", "299"], hasOlder: true, totalBytes });
    expect(await answers(3 * bytes(299) - 1)).toMatchObject({ entries: ["298", "299"], hasOlder: true });
    expect(await answers(10)).toEqual({ entries: [], hasOlder: true, totalBytes: 0 });
  });

  test("history is in order when its runs are larger than one statement reads", async () => {
    await using world = await openWorld(place);
    const large = (i: number) => `${i} ${"é".repeat(70_000)}`;
    const { threadId } = await ended(world, large(0));
    for (const i of [1, 2, 3, 4]) await ended(world, large(i), threadId);

    const { entries } = await world.store.runs.history(threadId, { ...NOBODY, maxBytes: 5_000_000 });

    expect(entries.map(({ messages }) => messages)).toEqual([0, 1, 2, 3, 4].map((i) => messagesOf(large(i))));
    expect(entries.map(({ bytes }) => bytes)).toEqual(
      [0, 1, 2, 3, 4].map((i) => Buffer.byteLength(JSON.stringify(messagesOf(large(i))))),
    );
  });

  test("the bytes of a thread's history count one role and subject only", async () => {
    await using world = await openWorld(place);
    const { threadId } = await ended(world, "clerk's", undefined, { role: "clerk" });
    await ended(world, "another role's", threadId, { role: "manager" });
    await ended(world, "another subject's", threadId, { role: "clerk", subject: "u1" });
    await failed(world, threadId, "clerk");
    await ended(world, "clerk's", threadId, { role: "clerk" });
    const total = async (role: string, subject?: string) =>
      (await world.store.runs.history(threadId, { role, subject, maxBytes: 10_000 })).totalBytes;
    const bytes = (answer: string) => Buffer.byteLength(JSON.stringify(messagesOf(answer)));

    expect(await total("clerk")).toBe(2 * bytes("clerk's"));
    expect(await total("clerk", "u1")).toBe(bytes("another subject's"));
    expect(await total("manager")).toBe(bytes("another role's"));
  });

  test("the bytes of history that was deleted still count", async () => {
    await using world = await openWorld(place);
    const first = await ended(world, "first");
    const { threadId } = first;
    await ended(world, "second", threadId);
    const before = await world.store.runs.history(threadId, { ...NOBODY, maxBytes: 10_000 });

    await world.place.execute(`delete from runs where id = '${first.runId}'`);

    const after = await world.store.runs.history(threadId, { ...NOBODY, maxBytes: 10_000 });
    expect(after.entries).toEqual(before.entries.slice(1));
    expect(after.totalBytes).toBe(before.totalBytes);
  });

  test("history before a run leaves out that run and what came after it", async () => {
    await using world = await openWorld(place);
    const { threadId } = await ended(world, "one");
    const second = await ended(world, "two", threadId);
    await ended(world, "three", threadId);

    const scope = { ...NOBODY, maxBytes: 10_000, before: second.runId };
    const { entries } = await world.store.runs.history(threadId, scope);

    expect(entries.map(({ messages }) => messages)).toEqual([messagesOf("one")]);
  });
}

/** As `World.finish` stores it. */
const messagesOf = (answer: string) => [
  { role: "user", text: "Which orders are late?" },
  { role: "assistant", text: answer, calls: [] },
];

async function ended(
  world: World,
  answer: string,
  threadId?: string,
  { role, subject }: { role?: string; subject?: string } = {},
): Promise<RunRecord> {
  const run = await world.start({
    ...(threadId !== undefined && { threadId }),
    ...(role !== undefined && { request: sampleRequest({ role }) }),
    ...(subject !== undefined && { subject }),
  });
  await world.finish(run, {}, answer);
  return run;
}

async function failed(world: World, threadId: string, role: string): Promise<void> {
  const run = await world.start({ threadId, request: sampleRequest({ role }) });
  await world.finish(run, failing(run));
}
