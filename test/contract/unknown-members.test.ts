import { expect, test } from "vitest";
import { scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });

test("members that a query does not have are ignored, and one warning names them on each endpoint", async () => {
  await using system = await startContractSystem(answering);
  const body = { dryRun: true, llmConfig: { provider: "openai", seed: 1 } };
  const warning = "dryRun, llmConfig.seed are not known and were ignored";

  expect(await system.query("hi", body)).toMatchObject({ success: true, response: "Hello.", warnings: [warning] });
  const { events } = await system.stream("hi", body);
  expect(events.at(-1)?.data).toMatchObject({ type: "finalResponse", warnings: [warning] });
  const local = await system.local("hi", { dryRun: true, threadId: "t", llm_config: { provider: "openai", seed: 1 } });
  expect(local.events.at(-1)?.data).toMatchObject({
    type: "final_response",
    data: { warnings: ["dryRun, threadId, llm_config.seed are not known and were ignored"] },
  });
});

test("one unknown member is named, of many the first ten", async () => {
  await using system = await startContractSystem(answering);
  const many = Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`member${i}`, null]));

  expect(await system.query("hi", { dryRun: true })).toMatchObject({
    warnings: ["dryRun is not known and was ignored"],
  });
  expect(await system.query("hi", many)).toMatchObject({
    warnings: [
      "member0, member1, member2, member3, member4, member5, member6, member7, member8, member9 and 3 more are not known and were ignored",
    ],
  });
});

test("a failed query names its unknown members too, and a query without any has no warning", async () => {
  await using system = await startContractSystem(scriptFor({ error: { status: 401 } }));
  await using connected = await startContractSystem(answering);
  const warnings = [expect.stringContaining("constructor is not known")];

  const body = { constructor: "x" };
  expect(await system.query("hi", body)).toMatchObject({ success: false, warnings });
  expect((await system.stream("hi", body)).events.at(-1)?.data).toMatchObject({ type: "error", warnings });
  expect((await system.local("hi", body)).events.at(-1)?.data).toMatchObject({ type: "error", data: { warnings } });
  expect(await connected.query("hi", { role: null, sessionId: "" })).not.toHaveProperty("warnings");
});
