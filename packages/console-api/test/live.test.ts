import { expect, test } from "vitest";
import { readAlong } from "@patchbay/test-support/reader";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

/** An event that names a topic. */
const changeOf = (topic: string) => new RegExp(`event: change\\ndata: \\{"topics":\\[[^\\]]*"${topic}"`);

test("an open page receives changes of runs, keys and credits, and no event before the first change", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  using leaving = leave();
  const view = readAlong(await viewer.ask("GET", "/live", { signal: leaving.signal }));
  await view.seen(/id: live\n\n/);
  expect(view.text).not.toContain("event: change");

  await settled(view, desk);
  await desk.query("Show order 3");
  await view.seen(changeOf("runs"));
  await desk.admin.createKey({ agentId: desk.agentId });
  await view.seen(changeOf("credentials"));
  await desk.admin.grant(desk.orgId, "5");
  await view.seen(changeOf("credits"));
});

test("a page of one agent receives no changes of another", async () => {
  await using desk = await openDesk();
  const other = await desk.admin.createAgent("Buyer", { orgId: desk.orgId });
  const viewer = await desk.member("viewer");
  using leaving = leave();
  const { signal } = leaving;
  const ofAgent = readAlong(await viewer.ask("GET", `/live?agentId=${desk.agentId}`, { signal }));
  const ofAll = readAlong(await viewer.ask("GET", "/live", { signal }));
  await settled(ofAll, desk);

  await desk.admin.createKey({ agentId: other.agentId });
  await ofAll.seen(changeOf("credentials"));
  const developer = await desk.member("developer");
  await (await developer.ask("POST", `${desk.agent}/playground`, { body: { query: "Show order 3" } })).text();
  await ofAgent.seen(changeOf("runs"));

  expect(ofAgent.text).not.toMatch(changeOf("credentials"));
});

test("a client that reconnects receives all topics, because it may have missed changes", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  using leaving = leave();

  const headers = { "last-event-id": "live" };
  const view = readAlong(await viewer.ask("GET", "/live", { signal: leaving.signal, headers }));

  await view.seen(/"topics":\["agents","runtimes","runs","credentials","credits","members"\]/);
});

test("a live stream ends with its session", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  const view = readAlong(await viewer.ask("GET", "/live"));
  await view.seen(/id: live/);

  await viewer.json("DELETE", "/session");

  expect(await view.over).toBe(true);
});

test("a live stream ends immediately when the process stops", async () => {
  const desk = await openDesk();
  const viewer = await desk.member("viewer");
  const view = readAlong(await viewer.ask("GET", "/live"));
  await view.seen(/id: live/);

  const closed = desk.plane.close({ graceMs: 60_000 });

  expect(await view.over).toBe(true);
  await closed;
  await desk[Symbol.asyncDispose]();
});

test("a member has at most 20 live streams, and can open another after closing one", async () => {
  await using desk = await openDesk();
  const [viewer, other] = [await desk.member("viewer"), await desk.member("viewer")];
  using leaving = leave();
  const first = leave();
  // A response without a reference is cancelled by garbage collection.
  const held: Response[] = [];
  const open = async (signal: AbortSignal) => {
    const answer = await viewer.ask("GET", "/live", { signal });
    held.push(answer);
    return answer;
  };
  await open(first.signal);
  for (let i = 1; i < 20; i++) expect((await open(leaving.signal)).status).toBe(200);

  expect(await failureOf(await open(leaving.signal))).toEqual([429, "rate_limited"]);
  expect((await other.ask("GET", "/live", { signal: leaving.signal })).status).toBe(200);
  first[Symbol.dispose]();

  await expect.poll(async () => (await open(leaving.signal)).status).toBe(200);
  expect(held.filter(({ status }) => status === 200)).toHaveLength(21);
});

function leave(): { signal: AbortSignal } & Disposable {
  const gone = new AbortController();
  return { signal: gone.signal, [Symbol.dispose]: () => gone.abort() };
}

/** Changes the agent until the stream reports it: from then on the feed has versions to compare with. */
async function settled(view: ReturnType<typeof readAlong>, desk: Awaited<ReturnType<typeof openDesk>>): Promise<void> {
  let changes = 0;
  await expect
    .poll(
      async () => {
        await desk.admin.updateAgent(desk.agentId, { name: `Desk ${++changes}` });
        return view.text;
      },
      { interval: 300 },
    )
    .toMatch(changeOf("agents"));
}
