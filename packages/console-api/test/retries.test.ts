import type { RunTrace, SentTurn } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { startStandIn } from "@patchbay/test-support/providers";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

/** A desk whose model refunds first, and is down for the next turn until `up`. */
async function failingDesk() {
  const state = { up: false };
  const standIn = await startStandIn("anthropic", ({ step }) => {
    if (step > 0) return state.up ? { text: "Refunded." } : { error: { status: 401 } };
    return { calls: [{ name: "refund", arguments: { amount: 5 } }] };
  });
  const desk = await openDesk({ providers: standIn.config });
  const failed = await desk.query("Refund 5", { role: "agent" });
  expect(failed).toMatchObject({ code: "provider_error" });
  return {
    ...desk,
    state,
    failed,
    path: `${desk.agent}/runs/${failed.runId}`,
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
    },
  };
}

test("a member retries a failed run, and both runs show it", async () => {
  await using desk = await failingDesk();
  const member = await desk.member("developer");
  desk.state.up = true;

  const { runId, threadId } = await member.json<{ runId: string; threadId: string }>("POST", `${desk.path}/retry`);

  expect(threadId).toBe(desk.failed.threadId);
  const trace = () => member.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`);
  await expect.poll(async () => (await trace()).status).toBe("succeeded");
  expect(await trace()).toMatchObject({
    continues: [desk.failed.runId],
    retriedBy: null,
    source: "playground",
    response: "Refunded.",
  });
  expect(await member.json<RunTrace>("GET", desk.path)).toMatchObject({ continues: [], retriedBy: runId });
  // The first turn of the retry has the number after that of the failed run.
  const sent = await member.json<SentTurn>("GET", `${desk.agent}/runs/${runId}/turns/1/request`);
  expect(sent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "results"]);
  expect(await failureOf(await member.ask("POST", `${desk.path}/retry`))).toEqual([409, "conflict"]);
});

test("a viewer may not retry a run, and an unknown run is not found", async () => {
  await using desk = await failingDesk();
  const [viewer, member] = [await desk.member("viewer"), await desk.member("developer")];

  expect(await failureOf(await viewer.ask("POST", `${desk.path}/retry`))).toEqual([403, "console_role_required"]);
  expect(await failureOf(await member.ask("POST", `${desk.agent}/runs/run_0/retry`))).toEqual([404, "not_found"]);
});
