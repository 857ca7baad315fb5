import { expect, test } from "vitest";
import { ModelError, type ModelRequest } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

const ROOM = 1_000;
const MARKER = "Earlier turns of this conversation were left out";

/** A provider that rejects more than `ROOM` characters, in one of the two ways of real providers. */
function narrow(refusal: ScriptedTurn) {
  return scriptedModel((request) => (textOf(request).length > ROOM ? refusal : { text: "word ".repeat(60) }));
}

const textOf = ({ messages }: ModelRequest): string => messages.map((message) => JSON.stringify(message)).join("");

const refusals: [how: string, refusal: ScriptedTurn][] = [
  ["an error", { fail: new ModelError("context_window", "too long") }],
  ["the end of a turn", { stop: "context_window" }],
];

test.each(refusals)(
  "history that the provider rejects as too long by %s is left out, with a marker",
  async (_, refusal) => {
    const model = narrow(refusal);
    const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
    await using core = await startCore({ models: model.catalog, gateway });
    const { threadId } = await core.query("Query 0");

    const answers = [];
    for (const number of [1, 2, 3]) answers.push(await core.query(`Query ${number}`, { threadId }));

    const last = textOf(model.requests.at(-1)!);
    expect(last).toContain("Query 3");
    expect(last).toContain(MARKER);
    expect(last).not.toContain("Query 0");
    expect(textOf(model.requests[0]!)).not.toContain(MARKER);
    for (const { success } of answers) expect(success).toBe(true);
    expect(answers.at(-1)?.warnings).toEqual([expect.stringMatching(/^Earlier turns of the thread were left out/)]);
  },
);

test("a query that is too long without history ends with provider_error", async () => {
  const model = narrow({ fail: new ModelError("context_window", "too long") });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  await using core = await startCore({ models: model.catalog, gateway });

  const answer = await core.query("x".repeat(2 * ROOM));

  expect(answer).toMatchObject({ success: false, code: "provider_error" });
  expect(answer.errorMessage).toContain("the conversation is too long for the model");
  expect(model.requests).toHaveLength(1);
});

test("the shown text of a turn that was too long is withdrawn, whether or not the turn is requested again", async () => {
  const model = narrow({ text: "Well,", stop: "context_window" });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  await using core = await startCore({ models: model.catalog, gateway });
  async function shownOf(query: string, threadId?: string): Promise<string[]> {
    const asked = { query, analysisMode: false, maxTokens: 100, ...(threadId !== undefined && { threadId }) };
    const run = await core.runs.start(core.caller, asked);
    const shown: string[] = [];
    for await (const { body } of core.follow(run)) {
      const event = JSON.parse(body) as { type: string; content?: string };
      if (event.type !== "responseDelta") shown.push(event.type);
      else if (event.content === "Well,") shown.push(event.content);
    }
    return shown;
  }
  const { threadId } = await core.query("Query 0");
  for (const number of [1, 2]) await core.query(`Query ${number}`, { threadId });

  expect(await shownOf("Query 3", threadId)).toEqual(["Well,", "deltaReset", "finalResponse"]);
  expect(await shownOf("x".repeat(2 * ROOM))).toEqual(["Well,", "deltaReset", "error"]);
});
