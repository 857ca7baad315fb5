import type { RunTrace, SentTurn, TestCallResult } from "@patchbay/protocol/console";
import { expect, test, vi } from "vitest";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

type Desk = Awaited<ReturnType<typeof openDesk>>;

/** A developer who repeats runs and waits for their end. */
async function repeater(desk: Desk) {
  const developer = await desk.member("developer");
  const trace = (runId: string) => developer.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`);
  return {
    ...developer,
    trace,
    sent: (runId: string) => developer.json<SentTurn>("GET", `${desk.agent}/runs/${runId}/turns/0/request`),
    async repeat(runId: string) {
      const { runId: again } = await developer.json<{ runId: string }>("POST", `${desk.agent}/runs/${runId}/reruns`);
      await vi.waitFor(async () => expect((await trace(again)).finishedAt).not.toBeNull());
      return trace(again);
    },
  };
}

test("a repeated run is sent what its origin was sent, earlier queries included, in a thread of its own", async () => {
  await using desk = await openDesk();
  await desk.store.accounts.updateAgent(desk.agentId, { settings: { temperature: 0.3, steps: 7, maxTokens: 900 } });
  const { threadId } = await desk.query("Show order 3", { role: "agent" });
  const asked = { role: "agent", threadId, sessionId: "visit", contextJson: '{"shop":1}' };
  const origin = await desk.query("Show order 4", asked);
  await desk.query("Show order 5", { role: "agent", threadId });
  await desk.store.accounts.updateAgent(desk.agentId, { settings: { temperature: 1, steps: 2 } });
  const member = await repeater(desk);

  const { runId } = await member.repeat(origin.runId);
  const third = await member.repeat(runId);

  const [before, again] = [await member.trace(origin.runId), await member.trace(runId)];
  for (const run of [again, third]) {
    expect(run).toMatchObject({ role: "agent", sessionId: "visit", context: { shop: 1 }, source: "playground" });
    expect([run.fullQuery, run.settings, run.response]).toEqual([before.fullQuery, before.settings, before.response]);
    expect(run.threadId).not.toBe(threadId);
    expect(await member.sent(run.runId)).toEqual(await member.sent(origin.runId));
  }
  expect([before.rerunOf, again.rerunOf, third.rerunOf]).toEqual([null, origin.runId, again.runId]);
  expect([before.reruns, again.reruns, third.reruns]).toEqual([[again.runId], [third.runId], []]);
  const { messages } = (await (await desk.get(`/agents/${desk.agentId}/threads/${threadId}`)).json()) as {
    messages: unknown[];
  };
  expect(messages).toHaveLength(6);
});

test("a test call is repeated as a test call", async () => {
  await using desk = await openDesk();
  const member = await repeater(desk);
  const body = { role: "manager", arguments: { id: 9 } };
  const path = `${desk.agent}/functions/show_order/test-calls`;
  const { runId } = await member.json<TestCallResult>("POST", path, { body });

  const again = await member.repeat(runId);

  expect(again).toMatchObject({ source: "test_call", role: "manager", rerunOf: runId });
  expect(again.spans.find(({ kind }) => kind === "call")).toMatchObject({
    input: { id: 9 },
    output: { id: 9, cost: 7 },
  });
});

test("a repeated run keeps the id of an origin that was deleted, and is sent no history then", async () => {
  await using desk = await openDesk();
  const { threadId } = await desk.query("Show order 3");
  const { runId } = await desk.query("Show order 4", { threadId });
  const member = await repeater(desk);
  const again = await member.repeat(runId);
  await member.ask("DELETE", `${desk.agent}/threads/${threadId}`);

  const after = await member.trace(again.runId);
  const third = await member.repeat(again.runId);

  expect(after.rerunOf).toBe(runId);
  expect((await member.sent(third.runId)).messages).toHaveLength(1);
});

test("a viewer may not repeat a run, and an unknown run is not found", async () => {
  await using desk = await openDesk();
  const { runId } = await desk.query("Show order 3");
  const [viewer, member] = [await desk.member("viewer"), await repeater(desk)];

  const refused = await viewer.ask("POST", `${desk.agent}/runs/${runId}/reruns`);
  const unknown = await member.ask("POST", `${desk.agent}/runs/run_0/reruns`);

  expect(await failureOf(refused)).toEqual([403, "console_role_required"]);
  expect(await failureOf(unknown)).toEqual([404, "not_found"]);
});
