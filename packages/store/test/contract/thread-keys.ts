import { expect, test } from "vitest";
import { event, openWorld, type MakePlace } from "./world.ts";

const key = { scope: "key_1", id: "chat-1" };

export function threadKeyContract(place: MakePlace): void {
  test("a key names the thread that was made with it, in its agent and scope only", async () => {
    await using world = await openWorld(place);
    const { threads } = world.store;
    expect(await threads.ofKey(world.agentId, key)).toBeUndefined();

    const run = await world.start({ threadKey: key });

    expect(await threads.ofKey(world.agentId, key)).toBe(run.threadId);
    expect(await threads.ofKey("agt_2", key)).toBeUndefined();
    expect(await threads.ofKey(world.agentId, { ...key, scope: "key_2" })).toBeUndefined();
    expect(await threads.ofKey(world.agentId, { ...key, id: "chat-2" })).toBeUndefined();
    const other = await world.start({ threadKey: { ...key, scope: "key_2" } });
    expect(await threads.ofKey(world.agentId, key)).toBe(run.threadId);
    expect(await threads.ofKey(world.agentId, { ...key, scope: "key_2" })).toBe(other.threadId);
  });

  test("of simultaneous runs with a new key one makes the thread, and nothing of the others is stored", async () => {
    await using world = await openWorld(place);
    const stores = [world.store, await world.another(), await world.another()];
    for (let round = 0; round < 10; round++) {
      const threadKey = { ...key, id: `chat-${round}` };
      const asked = stores.flatMap((store) => [0, 1].map(() => ({ store, run: world.newRun({ threadKey }) })));

      const started = await Promise.all(asked.map(({ store, run }) => store.runs.start(run)));

      expect(started.map(({ kind }) => kind).toSorted()).toEqual(["started", ...Array(5).fill("thread_gone")]);
      const winner = asked[started.findIndex(({ kind }) => kind === "started")]!.run;
      expect(await world.store.threads.ofKey(world.agentId, threadKey)).toBe(winner.threadId);
      for (const { run } of asked)
        expect(await world.store.threads.exists(world.agentId, run.threadId)).toBe(run === winner);
    }
  });

  test("a refused run makes the thread of a new key, and gets a thread of its own when the key is taken", async () => {
    await using world = await openWorld(place);
    const { runs, threads } = world.store;
    const refusal = { code: "agent_session_not_found", event: event(1, "error"), result: undefined } as const;
    const [first, second] = [world.newRun({ threadKey: key }), world.newRun({ threadKey: key })];

    await runs.refuse(first, refusal);
    await runs.refuse(second, refusal);

    expect(await threads.ofKey(world.agentId, key)).toBe(first.threadId);
    expect(await runs.get(world.agentId, second.runId)).toMatchObject({ threadId: second.threadId });
  });

  test("a key is erased with its thread, and then makes another one", async () => {
    await using world = await openWorld(place);
    const { threadId } = await world.start({ threadKey: key });

    await world.store.threads.erase(world.agentId, threadId);

    expect(await world.store.threads.ofKey(world.agentId, key)).toBeUndefined();
    const again = await world.start({ threadKey: key });
    expect(await world.store.threads.ofKey(world.agentId, key)).toBe(again.threadId);
  });

  test("a credential names the first one of its rotations", async () => {
    await using world = await openWorld(place);
    const { accounts } = world.store;
    const secret = (name: string) => ({ credentialId: name, hash: `hash of ${name}`, hint: name });
    await accounts.createCredential({ ...secret("key_1"), kind: "api", agentId: world.agentId });
    await accounts.rotateCredential("api", "key_1", secret("key_2"), 60_000);
    await accounts.rotateCredential("api", "key_2", secret("key_3"), 60_000);

    expect((await accounts.findCredential("api", "hash of key_1"))?.lineage).toBeUndefined();
    expect((await accounts.findCredential("api", "hash of key_3"))?.lineage).toBe("key_1");
  });
}
