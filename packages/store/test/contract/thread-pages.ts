import { expect, test } from "vitest";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { failing, openWorld, sampleRequest, type MakePlace } from "./world.ts";

export function threadPageContract(place: MakePlace): void {
  test.each([1, 2, 3, 100])("messages are paged, %i at a time, each once and oldest first", async (limit) => {
    await using world = await openWorld(place);
    const { store, agentId } = world;
    const first = await world.start();
    const { threadId } = first;
    const expected: string[] = [];
    for (let i = 0, run = first; i < 4; i++) {
      expected.push(`user ${run.runId}`);
      if (i === 1) await world.finish(run, failing(run));
      else {
        await world.finish(run, {}, `Answer ${i}.`);
        expected.push(`assistant ${run.runId}`);
      }
      if (i < 3) run = await world.start({ threadId });
    }

    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await store.threads.get(agentId, threadId, { limit, ...(cursor && { cursor }) });
      expect(page!.messages.length).toBeLessThanOrEqual(limit);
      seen.push(...page!.messages.map(({ role, runId }) => `${role} ${runId}`));
      cursor = page?.nextCursor;
    } while (cursor);

    expect(seen).toEqual(expected);
  });

  test("a cursor of another list shows no messages; one that no list gave is refused", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start();
    const get = (cursor: string) => world.store.threads.get(world.agentId, threadId, { limit: 1, cursor });
    const ofThreads = Buffer.from(JSON.stringify({ u: Date.now(), id: "thr_1" })).toString("base64url");

    expect(await get(ofThreads)).toMatchObject({ messages: [], nextCursor: null });
    await expect(get("x")).rejects.toThrow(ServiceError);
  });

  test("a list is narrowed to threads with a run of a session, for pinned keys one that they may see", async () => {
    await using world = await openWorld(place);
    const clerk = sampleRequest({ role: "clerk" });
    const moved = await world.start({ sessionId: "s-1", request: clerk });
    await world.start({ threadId: moved.threadId, sessionId: "s-2", request: sampleRequest({ role: "manager" }) });
    world.clock.advance(1000);
    const second = await world.start({ sessionId: "s-2", request: clerk });
    await world.start({ request: clerk });
    const list = async (sessionId: string, roles?: string[]) => {
      const page = await world.store.threads.list(world.agentId, { limit: 9, sessionId, ...(roles && { roles }) });
      return page.items.map(({ threadId }) => threadId);
    };

    expect(await list("s-1")).toEqual([moved.threadId]);
    expect(await list("s-2")).toEqual([second.threadId, moved.threadId]);
    expect(await list("s-3")).toEqual([]);
    expect(await list("s-1", ["clerk"])).toEqual([moved.threadId]);
    expect(await list("s-2", ["clerk"])).toEqual([second.threadId]);
    expect(await list("s-1", ["manager"])).toEqual([]);
    expect(await list("s-2", ["manager"])).toEqual([moved.threadId]);
  });
}
