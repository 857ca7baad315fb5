import { expect, test } from "vitest";
import { ending, event, openWorld, sampleRequest, sampleTurn, type MakePlace, type World } from "./world.ts";

const ALWAYS = { from: 0, to: Date.UTC(2040, 0) };

async function threadsOf(world: World, asked: { sessionId?: string; q?: string } = {}): Promise<string[]> {
  const { items } = await world.console.threads.list(world, { limit: 10, ...asked });
  return items.map(({ threadId }) => threadId);
}

async function sessionsOf(world: World, asked: { from?: number; to?: number; q?: string } = {}): Promise<string[]> {
  const all = { limit: 10, ...ALWAYS, ...asked };
  const { items } = await world.console.sessions.list(world, all);
  return items.map(({ sessionId }) => sessionId);
}

const asking = (query: string) => ({ request: sampleRequest({ query }) });

export function consoleThreadContract(place: MakePlace): void {
  test("a thread in a list shows the number and cost of its runs of all roles", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ threadId: "thr_1", newThread: true, ...asking("Who is late?") });
    await world.finish(first, { turn: sampleTurn(0, { costMicros: 300_000 }) });
    world.clock.advance(10);
    const boss = { threadId: "thr_1", newThread: false, request: sampleRequest({ role: "boss" }) };
    const second = await world.start(boss);
    await world.finish(second, { turn: sampleTurn(0, { costMicros: 200_000 }) });

    const { items } = await world.console.threads.list(world, { limit: 5 });

    expect(items).toEqual([
      {
        threadId: "thr_1",
        sessionId: null,
        title: "Who is late?",
        runs: 2,
        costUsd: 0.5,
        createdAt: "2030-01-01T00:00:00.000Z",
        updatedAt: "2030-01-01T00:00:00.010Z",
      },
    ]);
    const thread = await world.console.threads.get(world, "thr_1", { limit: 5 });
    expect(thread).toMatchObject({
      threadId: "thr_1",
      title: "Who is late?",
      figures: { queries: 2, costUsd: 0.5 },
      nextCursor: null,
    });
    expect(thread?.runs.map(({ runId }) => runId)).toEqual([first.runId, second.runId]);
  });

  test("a thread is read from its end, part by part, each part in its order and with the figures of all", async () => {
    await using world = await openWorld(place);
    const { threads } = world.console;
    const texts = ["1", "2", "3", "4", "5"];
    for (const [i, text] of texts.entries()) {
      const run = await world.start({ threadId: "thr_1", newThread: i === 0, ...asking(text) });
      if (text !== "4") await world.finish(run, {}, `answer ${text}`);
      else await world.finish(run, { finish: { ...ending(run).finish!, status: "failed" } });
    }
    const parts: string[][] = [];

    for (let cursor: string | undefined | null; cursor !== null;) {
      const page = await threads.get(world, "thr_1", { limit: 2, cursor });
      expect(page).toMatchObject({ title: "1", figures: { queries: 5 } });
      expect(page!.runs.map(({ query }) => query)).toEqual(
        page!.messages.filter(({ role }) => role === "user").map(({ content }) => content),
      );
      parts.push(page!.messages.map(({ content }) => content));
      cursor = page!.nextCursor;
    }

    expect(parts).toEqual([
      ["4", "5", "answer 5"],
      ["2", "answer 2", "3", "answer 3"],
      ["1", "answer 1"],
    ]);
  });

  test("threads are found by any session of their runs, by words of the title and by the beginning of the id", async () => {
    await using world = await openWorld(place);
    await world.start({ threadId: "thr_a", newThread: true, sessionId: "s1", ...asking("Where is 50% of it?") });
    world.clock.advance(1);
    await world.start({ threadId: "thr_b", newThread: true, sessionId: "s1", ...asking("Refund it") });
    world.clock.advance(1);
    await world.start({ threadId: "thr_a", newThread: false, sessionId: "s2" });

    expect(await threadsOf(world)).toEqual(["thr_a", "thr_b"]);
    expect(await threadsOf(world, { sessionId: "s1" })).toEqual(["thr_a", "thr_b"]);
    expect(await threadsOf(world, { sessionId: "s2" })).toEqual(["thr_a"]);
    expect(await threadsOf(world, { sessionId: "s3" })).toEqual([]);
    expect(await threadsOf(world, { q: "50% OF" })).toEqual(["thr_a"]);
    expect(await threadsOf(world, { q: "5_%" })).toEqual([]);
    expect(await threadsOf(world, { q: "thr_b" })).toEqual(["thr_b"]);
  });

  test("threads and sessions come page by page, each once", async () => {
    await using world = await openWorld(place);
    const { threads, sessions } = world.console;
    for (let i = 0; i < 5; i++) {
      if (i % 2 === 0) world.clock.advance(1000); // pairs of one millisecond
      await world.start({ threadId: `thr_${i}`, newThread: true, sessionId: `s${i}` });
    }
    const seen: string[] = [];
    const asked = { limit: 2, ...ALWAYS };

    for (let cursor: string | undefined | null; cursor !== null;) {
      const page = await threads.list(world, { ...asked, cursor });
      seen.push(...page.items.map(({ threadId }) => threadId));
      cursor = page.nextCursor;
    }
    for (let cursor: string | undefined | null; cursor !== null;) {
      const page = await sessions.list(world, { ...asked, cursor });
      seen.push(...page.items.map(({ sessionId }) => sessionId));
      cursor = page.nextCursor;
    }

    expect(seen).toEqual(["thr_4", "thr_3", "thr_2", "thr_1", "thr_0", "s4", "s3", "s2", "s1", "s0"]);
  });

  test("a session in a list shows its first query, its failures and its cost", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ sessionId: "s1", ...asking("Hello") });
    await world.finish(first, { turn: sampleTurn(0, { costMicros: 400_000 }) });
    world.clock.advance(10);
    const second = await world.start({ sessionId: "s1", ...asking("Again") });
    const { finish } = ending(second);
    await world.finish(second, { events: [event(1, "error")], finish: { ...finish!, status: "failed" } });

    const asked = { ...ALWAYS, limit: 5 };
    const { items } = await world.console.sessions.list(world, asked);

    expect(items).toEqual([
      {
        sessionId: "s1",
        firstQuery: "Hello",
        queries: 2,
        failed: 1,
        costUsd: 0.4,
        createdAt: "2030-01-01T00:00:00.000Z",
        lastSeenAt: "2030-01-01T00:00:00.010Z",
      },
    ]);
  });

  test("sessions are those that were there in a stretch of time, found by id and by the query they began with", async () => {
    await using world = await openWorld(place);
    const begin = world.clock.now();
    await world.start({ sessionId: "anna", ...asking("Where is it?") });
    world.clock.advance(1);
    await world.start({ sessionId: "anna", ...asking("Refund it") });
    world.clock.advance(1000);
    await world.start({ sessionId: "bert", ...asking("Where is mine?") });

    expect(await sessionsOf(world, { from: begin, to: begin + 1000 })).toEqual(["anna"]);
    expect(await sessionsOf(world, { from: begin + 2 })).toEqual(["bert"]);
    expect(await sessionsOf(world, { q: "WHERE" })).toEqual(["bert", "anna"]);
    expect(await sessionsOf(world, { q: "refund" })).toEqual([]);
    expect(await sessionsOf(world, { q: "nn" })).toEqual(["anna"]);
  });

  test("a session outlives its threads", async () => {
    await using world = await openWorld(place);
    const run = await world.start({ sessionId: "s1" });
    await world.store.threads.erase(world.agentId, run.threadId);

    const asked = { ...ALWAYS, limit: 5 };
    const { items } = await world.console.sessions.list(world, asked);

    expect(items).toMatchObject([{ sessionId: "s1", firstQuery: "", queries: 0, costUsd: 0 }]);
  });
}
