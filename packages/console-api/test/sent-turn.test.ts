import type { SentTurn } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sentTurn } from "../src/runs/sent-turn.ts";
import {
  type ChosenModel,
  type ModelCatalog,
  ModelError,
  type ModelRequest,
} from "@patchbay/engine/ports/model-provider";
import { openStore, type OpenStore } from "@patchbay/store/open";
import { startCore } from "../../engine/test/run/core.ts";
import { fakeGateway, manifestOf, ok } from "../../engine/test/run/fake-gateway.ts";
import { scriptedModel, severalModels } from "../../engine/test/run/scripted-model.ts";
import { responds, SCHEMA } from "../../engine/test/run/start-structured.ts";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";
import { consoleOf } from "../../store/test/contract/world.ts";

const MANIFEST = manifestOf({ look_up: "everyone", refund: ["clerk"], close: ["boss"] }, { instructions: "Be exact." });
const { gateway } = fakeGateway(MANIFEST, () => ok({ found: "order ".repeat(20) }));
const never = new Promise<never>(() => {});

/** What the console shows of a run, turn by turn, from what is stored. */
async function shownTurns(store: OpenStore, models: ModelCatalog, runId: string): Promise<SentTurn[]> {
  const queries = consoleOf(store);
  const parts = (await queries.runs.parts({ orgId: "org_1", agentId: "agt_1" }, runId))!;
  const manifest = await store.runtimes.getManifest("agt_1", "hash");
  return Promise.all(
    parts.turns.map(({ step }) => sentTurn(parts, String(step), manifest, { models, queries, store })),
  );
}

/** The part of a request that is sent, in the form in which the console shows it. */
function asShown({ system, functions, messages, respond, ...request }: ModelRequest) {
  const { model, maxTokens, temperature = null, toolChoice, cacheKey, earlierMessages = 0 } = request;
  const parameters = { model, maxTokens, temperature, toolChoice, answerFunction: respond?.name ?? null, cacheKey };
  const shown = functions.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return structuredClone({ system, functions: shown, messages, earlierMessages, parameters });
}

function withoutFigures({ system, functions, messages, earlierMessages, parameters }: SentTurn) {
  const { provider: _, ...rest } = parameters;
  return { system, functions, messages, earlierMessages, parameters: rest };
}

const isShown = (turns: readonly SentTurn[], requests: readonly ModelRequest[]): void =>
  expect(turns.map(withoutFigures)).toEqual(requests.map(asShown));

test("every turn of a run in a thread shows the request that the model received", async () => {
  const model = scriptedModel((_, i) =>
    i === 1 || i === 2 ? { text: "So.", calls: [["look_up", { i }]] } : { text: "Done." },
  );
  await using core = await startCore({ models: model.catalog, gateway });
  const { threadId } = await core.query("First", { role: "clerk" });
  const { runId } = await core.query("Second", {
    threadId,
    role: "clerk",
    context: { shop: 7 },
    llm: { provider: "gemini", temperature: 0.5 },
  });

  const turns = await shownTurns(core.store, model.catalog, runId);

  isShown(turns, model.requests.slice(1));
  expect(turns[0]!.functions.map(({ name }) => name)).toEqual(["look_up", "refund"]);
  expect(turns.map(({ earlierMessages }) => earlierMessages)).toEqual([2, 2, 2]);
  expect(turns.map(({ difference }) => difference)).toEqual([
    null,
    { added: [3, 4], removed: [], parameters: {} },
    { added: [5, 6], removed: [], parameters: {} },
  ]);
  expect(turns[1]!.tokens).toMatchObject({ input: 10, cachedInput: 0 });
  expect(turns[1]!.tokens.messages).toHaveLength(5);
});

test("plans, the last step and answers that meet a schema are shown as they were requested", async () => {
  const planned = scriptedModel((_, i) =>
    i === 0 ? { text: "I look it up." } : i < 3 ? { calls: [["look_up", {}]] } : { text: "Done." },
  );
  await using core = await startCore({ models: planned.catalog, gateway });
  await core.store.accounts.updateAgent("agt_1", { settings: { steps: 2 } });
  const { runId } = await core.query("Go", { analysisMode: true });
  const turns = await shownTurns(core.store, planned.catalog, runId);
  isShown(turns, planned.requests);
  expect(turns.at(-1)!.difference!.parameters).toEqual({ toolChoice: "auto" });

  const structured = scriptedModel([
    { text: "Text" },
    responds({ total: "much" }),
    { calls: [["look_up", {}]] },
    responds({ total: 1 }),
  ]);
  await using other = await startCore({ models: structured.catalog, gateway });
  const answer = await other.query("How much?", { responseSchema: SCHEMA });
  const answered = await shownTurns(other.store, structured.catalog, answer.runId);
  isShown(answered, structured.requests);
  expect(answered.map(({ parameters }) => parameters.answerFunction)).toEqual(Array(4).fill("respond"));
});

test("a conversation that was shortened is shown as shortened, with the messages that were left out", async () => {
  const model = scriptedModel((_, i) => (i % 6 < 5 ? { calls: [["look_up", { i }]] } : { text: "word ".repeat(80) }));
  const catalog: ModelCatalog = {
    choose: () => ({ ...(model.catalog.choose() as ChosenModel), contextTokens: 9_500 }),
  };
  const large = fakeGateway(MANIFEST, () => ok("found ".repeat(600)));
  await using core = await startCore({ models: catalog, gateway: large.gateway });
  const { threadId } = await core.query("First");
  const { runId } = await core.query("Second", { threadId });

  const turns = await shownTurns(core.store, catalog, runId);

  isShown(turns, model.requests.slice(6));
  expect(JSON.stringify(turns.at(-1)!.messages)).toContain("were left out to save room");
  expect(turns.some(({ difference }) => (difference?.removed.length ?? 0) > 1)).toBe(true);
});

test("a turn shows the attempt that was answered: with another model, and after a conversation that was too long", async () => {
  const size = ({ messages }: ModelRequest) => JSON.stringify(messages).length;
  const models = severalModels({
    first: (_, i) => (i < 2 ? { calls: [["look_up", { i }]] } : { fail: new ModelError("quota", "no money") }),
    second: (request, i) =>
      size(request) > 1_000
        ? { fail: new ModelError("context_window", "too long") }
        : i < 4
          ? { calls: [["look_up", { i }]] }
          : { text: "Done." },
  });
  await using core = await startCore({ models: models.catalog, gateway });
  await core.store.accounts.updateAgent("agt_1", {
    settings: { fallback: [{ provider: "second", model: "second-1" }] },
  });
  const { runId } = await core.query("Go");

  const turns = await shownTurns(core.store, models.catalog, runId);

  const answered = [
    ...models.requests("first").slice(0, 2),
    ...models.requests("second").filter((one) => size(one) <= 1_000),
  ];
  isShown(turns, answered);
  expect(turns.map(({ parameters }) => parameters.provider)).toEqual([
    "first",
    "first",
    ...answered.slice(2).map(() => "second"),
  ]);
  expect(turns[2]!.difference!.parameters).toMatchObject({ provider: "first" });
});

test("a turn after a change of replicas shows what the second replica sent", async () => {
  const store = await openStore("sqlite::memory:");
  const asked = Promise.withResolvers<void>();
  let waits = true;
  const model = scriptedModel((_, i) => {
    if (i < 7) return { calls: [["look_up", { i }]], echo: { provider: "scripted", model: "scripted-1", blocks: [i] } };
    if (waits) asked.resolve();
    return waits ? { until: never } : { text: "Done." };
  });
  const catalog: ModelCatalog = {
    choose: () => ({ ...(model.catalog.choose() as ChosenModel), contextTokens: 9_500 }),
  };
  const large = fakeGateway(MANIFEST, () => ok("found ".repeat(180)));
  const first = await startCore({ models: catalog, gateway: large.gateway, store });
  const run = await first.start("Go", { maxTokens: 8192 });
  await asked.promise;
  waits = false;
  await first.runs.drain(0);
  const second = await startCore({ models: catalog, gateway: large.gateway, store, owner: "replica-2" });
  await second.result(run);

  const turns = await shownTurns(store, catalog, run.runId);

  expect(JSON.stringify(model.requests[7])).toContain("echo");
  expect(JSON.stringify(model.requests[8])).not.toContain("echo");
  // The request that the first replica gave up is not the one that was answered.
  isShown(turns, model.requests.toSpliced(7, 1));
  await second[Symbol.asyncDispose]();
  await store.close();
});

test("the turn in progress is shown, and a step that was not requested is not found", async () => {
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel((_, i) => {
    if (i === 0) return { calls: [["look_up", {}]] };
    asked.resolve();
    return { until: never };
  });
  await using core = await startCore({ models: model.catalog, gateway });
  const { runId } = await core.start("Go");
  await asked.promise;
  const queries = consoleOf(core.store);
  const parts = (await queries.runs.parts({ orgId: "org_1", agentId: "agt_1" }, runId))!;
  const turn = (step: string, manifest: typeof MANIFEST | undefined) =>
    sentTurn(parts, step, manifest, { models: model.catalog, queries, store: core.store });

  isShown([await turn("1", MANIFEST)], model.requests.slice(1));
  for (const step of ["2", "-1", "1e0", "x"])
    await expect(turn(step, MANIFEST)).rejects.toMatchObject({ code: "not_found" });
  await expect(turn("0", undefined)).rejects.toThrow("the functions of the run are no longer stored");
});

test("over HTTP, members see neither restricted fields nor hidden functions, and nothing of an erased thread", async () => {
  await using desk = await openDesk();
  const { runId, threadId } = await desk.query("Show order 3", { role: "customer" });
  const [viewer, developer] = [await desk.member("viewer"), await desk.member("developer")];
  const path = `${desk.agent}/runs/${runId}/turns/1/request`;

  const turn = await viewer.json<SentTurn>("GET", path);
  await developer.ask("DELETE", `${desk.agent}/threads/${threadId}`);

  expect(turn.messages.at(-1)).toMatchObject({ role: "results", results: [{ content: '{"id":3}' }] });
  expect(turn.functions.map(({ name }) => name)).toEqual(["show_order", "break_down"]);
  expect(JSON.stringify(turn)).not.toMatch(/cost|refund|close_shop/);
  expect(await failureOf(await developer.ask("GET", path))).toEqual([404, "not_found"]);
  expect((await fetch(`${desk.url}/api${path}`)).status).toBe(401);
});

test("a retry shows its turns after those of the run that it continues, as its model was sent them", async () => {
  const script = [
    { calls: [["look_up", { id: 1 }] as const] },
    { fail: new ModelError("authentication", "the key is wrong") },
    { calls: [["look_up", { id: 2 }] as const] },
    { text: "Done." },
  ];
  const model = scriptedModel(script);
  await using core = await startCore({ models: model.catalog, gateway });
  const failed = await core.start("Go");
  await core.result(failed);
  const retry = (await core.runs.retry(core.caller, failed.runId, {}))!;
  await core.result(retry);

  isShown(await shownTurns(core.store, model.catalog, retry.runId), model.requests.slice(2));
});
