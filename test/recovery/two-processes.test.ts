import { expect, test } from "vitest";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment } from "../support/processes.ts";
import { startStandIn } from "@patchbay/test-support/providers";

test("serve and connect answer both endpoints with a model over the network", async () => {
  await using standIn = await startStandIn("anthropic", ({ step, results, query }) =>
    step === 0
      ? {
          thoughts: ["Both at once."],
          calls: ["a", "b"].map((id) => ({ name: "charge", arguments: { id: id + query } })),
        }
      : { text: results.map(({ content }) => content).join("\n") },
  );
  await using deployment = await startDeployment({ env: standIn.env, tier: "growth" });
  await using _runtime = await deployment.connect();

  const answer = await deployment.query("1");
  const { events } = await deployment.stream("2", { threadId: answer.threadId });

  expect(answer).toMatchObject({
    success: true,
    errorMessage: "",
    response: '{"did":"charge","id":"a1"}\n{"did":"charge","id":"b1"}',
    toolInteractions: [
      { toolName: "charge", parameters: { id: "a1" }, success: true },
      { toolName: "charge", parameters: { id: "b1" }, success: true },
    ],
  });
  expect(events.map(({ id, data }) => [id, data.type])).toEqual([
    [1, "thought"],
    [2, "toolCall"],
    [3, "toolCall"],
    [4, "toolResult"],
    [5, "toolResult"],
    [6, "finalResponse"],
  ]);
  expect(events.at(-1)?.data).toMatchObject({ threadId: answer.threadId, response: expect.stringContaining('"a2"') });
  expect(
    deployment
      .functionRuns()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(["a1", "a2", "b1", "b2"]);
  expect(standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect(answer.usage?.costUsd).toBeGreaterThan(0);
  expect((await deployment.admin("credits", "show", "--org", deployment.orgId))["balanceUsd"]).toBeLessThan(100);
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 2, succeeded: 2 });
});

test("serve and connect answer both endpoints with the offline model", async () => {
  await using deployment = await startDeployment({ env: { PATCHBAY_PROVIDER: "offline" } });
  await using _runtime = await deployment.connect();

  const answer = await deployment.query('Fetch the record for id "r-17"');
  const { events } = await deployment.stream('Fetch the record for id "r-18"', { threadId: answer.threadId });

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ parameters: { id: "r-17" }, success: true }] });
  expect(events.at(-1)?.data).toMatchObject({ type: "finalResponse", threadId: answer.threadId });
  expect(deployment.functionRuns().map(({ name, id }) => [name, id])).toEqual([
    ["fetch_record", "r-17"],
    ["fetch_record", "r-18"],
  ]);
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 2, succeeded: 2 });
});
