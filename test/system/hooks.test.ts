import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exportRun } from "@patchbay/control-plane/admin";
import {
  connect,
  createLog,
  defineFunction,
  defineService,
  everyone,
  type AnswerHook,
  type QueryHook,
  type Service,
} from "@patchbay/functions";
import { scriptedModel, type ScriptedTurn } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { signIn } from "../support/console.ts";
import { readDatabase } from "../support/processes.ts";
import { startSystem } from "@patchbay/test-support/system";

/** Text that a hook withholds. It must not appear anywhere. */
const SECRET = "xyzzy-7Kq";
const REFUSAL = "This desk does not discuss prices.";

interface Hooks {
  beforeQuery?: QueryHook<object>;
  beforeAnswer?: AnswerHook<object>;
}

const serviceOf = (name: string, hooks: Hooks, call = "find_order"): Service =>
  defineService({
    name,
    functions: [
      defineFunction({
        name: call,
        description: "Finds an order.",
        input: z.object({}),
        roles: everyone,
        effect: "read",
        handler: () => "order 7",
      }),
    ],
    ...hooks,
  });

/** Writes the secret everywhere a model can: in a plan, in its reasoning, next to calls, in its answer. */
const careless: ScriptedTurn[] = [
  { text: `Plan: ask for ${SECRET}.`, thoughts: [`They want ${SECRET}.`] },
  { text: `First ${SECRET}.`, thoughts: [`Hm, ${SECRET}.`], calls: [["find_order", {}]] },
  { text: `It is ${SECRET}.`, thoughts: [`So ${SECRET}.`] },
];

/** Writes it in a plan, next to a value that is corrected, and in a duplicate property of its value. */
const carelessValues: ScriptedTurn[] = [
  { text: `Plan: find ${SECRET}.` },
  { text: `First ${SECRET}.`, thoughts: [`Hm, ${SECRET}.`], calls: [["respond", { word: 1, [SECRET]: SECRET }]] },
  { thoughts: [`So ${SECRET}.`], calls: [["respond", `{"word":"${SECRET}","word":"It is (withheld)."}`]] },
];

const responseSchema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };

const script = (turns: readonly ScriptedTurn[]) => scriptedModel((_, turn) => turns[turn % turns.length]!);

interface Asked {
  context?: object;
  responseSchema?: object;
}

/** Starts a system and reads all its outputs after some queries: endpoints, the console's API, logs, the database. */
async function startWithService(hooks: Hooks, turns: readonly ScriptedTurn[] = careless) {
  const folder = await temporaryFolder();
  const file = join(folder.path, "patchbay.db");
  const lines: string[] = [];
  const log = createLog({ level: "debug", write: (line) => lines.push(line) });
  const model = script(turns);
  const system = await startSystem({ database: `sqlite:${file}`, model, log });
  const { url, agentId, runtimeKey, orgId } = system;
  const connection = connect(serviceOf("desk", hooks), { url, agentId, key: runtimeKey, log });
  await connection.ready;

  async function browse(): Promise<(path: string) => Promise<string>> {
    const ask = await signIn(system.plane, orgId);
    return async (path) => {
      const response = await ask(path);
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      return text;
    };
  }

  /** Queries all three endpoints, with plans and deltas, twice on one thread, then reads all outputs. */
  async function askEverywhere(query: string, { context, responseSchema }: Asked = {}) {
    const body = { contextJson: context && JSON.stringify(context), responseSchema, analysisMode: true };
    const answer = await system.query(query, body);
    const { text: stream, events } = await system.stream(query, { ...body, includeDeltas: true });
    const snake = { context, response_schema: responseSchema };
    const { text: local } = await system.local(query, { ...snake, analysis_mode: true, include_deltas: true });
    const { threadId, runId } = answer;
    const again = await system.query("And then?", { threadId, responseSchema });
    const texts = async (paths: string[]) =>
      await Promise.all(paths.map(async (path) => await (await system.get(path)).text()));
    const ui = await browse();
    const of = `/agents/${agentId}`;
    const read: Record<string, string> = {
      "endpoint 1": JSON.stringify([answer, again]),
      "endpoint 2": stream,
      "endpoint 3": local,
      "runs and threads": (
        await texts([`${of}/runs/${runId}`, `${of}/runs/${runId}/events`, `${of}/threads`, `${of}/threads/${threadId}`])
      ).join("\n"),
      console: (
        await Promise.all(
          [
            `${of}/runs`,
            `${of}/runs/${runId}`,
            `${of}/runs/${runId}/log`,
            `${of}/runs/${runId}/events`,
            `${of}/threads`,
            `${of}/threads/${threadId}`,
            `${of}/sessions`,
            `/audit?agentId=${agentId}`,
          ].map(ui),
        )
      ).join("\n"),
      metrics: (await texts(["/metrics"])).join(),
    };
    return { answer, again, events, read };
  }

  async function close(): Promise<{ logs: string; database: string }> {
    await connection.stop({ drainMs: 0 });
    await system[Symbol.asyncDispose]();
    using database = readDatabase(file);
    const tables = database.rows<{ name: string }>("select name from sqlite_master where type = 'table'");
    const rows = tables.map(({ name }) => JSON.stringify(database.rows(`select * from "${name}"`))).join("\n");
    const kept = rows + readFileSync(file, "latin1");
    await folder[Symbol.asyncDispose]();
    return { logs: lines.join("\n"), database: kept };
  }

  return { system, model, askEverywhere, close };
}

function placesWith(word: string, read: Record<string, string>): string[] {
  return Object.keys(read).filter((place) => read[place]!.includes(word));
}

test("without a hook the model's text is found in every output", async () => {
  const desk = await startWithService({});
  const { read } = await desk.askEverywhere("What is it?");
  const { logs, database } = await desk.close();

  expect(placesWith(SECRET, { ...read, logs, database })).toEqual([
    "endpoint 1",
    "endpoint 2",
    "endpoint 3",
    "runs and threads",
    "console",
    "database",
  ]);
});

const withheldValue = '```json\n{\n  "word": "It is (withheld)."\n}\n```';

test.each([
  ["a text", careless, {}, "It is (withheld)."],
  ["a value", carelessValues, { responseSchema }, withheldValue],
])("text that beforeAnswer replaces in %s is in no output, and is not sent to the model again", async (...row) => {
  const [_, turns, asked, response] = row;
  const desk = await startWithService(
    { beforeAnswer: ({ answer }) => ({ replace: answer.replaceAll(SECRET, "(withheld)") }) },
    turns,
  );
  const { answer, again, events, read } = await desk.askEverywhere("What is it?", asked);
  const requests = JSON.stringify(desk.model.requests);
  const { logs, database } = await desk.close();

  expect(answer).toMatchObject({ success: true, response });
  expect(again.success).toBe(true);
  expect(events.filter(({ id }) => id === undefined)).toEqual([]);
  expect(placesWith(SECRET, { ...read, requests, logs, database })).toEqual([]);
  expect(placesWith("(withheld)", { ...read, requests, logs, database })).toEqual([
    "endpoint 1",
    "endpoint 2",
    "endpoint 3",
    "runs and threads",
    "console",
    "requests",
    "database",
  ]);
});

test.each<[what: string, turns: ScriptedTurn[], asked?: Asked]>([
  ["an answer", careless.slice(2)],
  ["a thought", [{ text: "Fine.", thoughts: [`So ${SECRET}.`] }]],
  ["a text next to calls", careless.slice(1)],
  ["a plan", careless],
  ["a value", [{ text: "Fine." }, { calls: [["respond", { word: SECRET }]] }], { responseSchema }],
  ["an invalid value", [{ text: "Fine." }, { calls: [["respond", { [SECRET]: 1 }]] }], { responseSchema }],
])("text of %s that beforeAnswer refuses is in no output", async (_, turns, asked) => {
  const desk = await startWithService(
    { beforeAnswer: ({ answer }) => (answer.includes(SECRET) ? { refuse: REFUSAL } : undefined) },
    turns,
  );
  const { answer, events, read } = await desk.askEverywhere("What is it?", asked);
  const requests = JSON.stringify(desk.model.requests);
  const { logs, database } = await desk.close();

  expect(answer).toMatchObject({ success: false, code: "refused", errorMessage: REFUSAL, response: "" });
  expect(events.at(-1)?.data).toMatchObject({ type: "error", code: "refused", errorMessage: REFUSAL });
  expect(placesWith(SECRET, { ...read, requests, logs, database })).toEqual([]);
});

test("a query that beforeQuery refuses reaches no model and is not stored", async () => {
  const desk = await startWithService(
    { beforeQuery: ({ query }) => (query.includes(SECRET) ? { refuse: REFUSAL } : undefined) },
    [{ text: "Fine." }],
  );
  const { answer, again, read } = await desk.askEverywhere(`Is my card ${SECRET}?`, {
    context: { card: SECRET },
  });
  const requests = JSON.stringify(desk.model.requests);
  const { logs, database } = await desk.close();

  expect(answer).toMatchObject({ success: false, code: "refused", errorMessage: REFUSAL });
  expect(requests).not.toContain(SECRET);
  expect(again).toMatchObject({ success: true, response: "Fine." });
  expect(placesWith(SECRET, { ...read, logs, database })).toEqual([]);
  expect(read["console"]).toContain("run.refused");
});

test("text on which a hook fails is in no output", async () => {
  const desk = await startWithService({
    beforeAnswer() {
      throw new Error("the list of words is unavailable");
    },
  });
  const { answer, read } = await desk.askEverywhere("What is it?");
  const { logs, database } = await desk.close();

  expect(answer).toMatchObject({ success: false, code: "internal", response: "" });
  expect(placesWith(SECRET, { ...read, logs, database })).toEqual([]);
  expect(placesWith("the list of words is unavailable", { ...read, logs, database })).toEqual(["logs"]);
});

test("the hooks of two services run in the order of their names", async () => {
  const adds = (word: string): Hooks => ({
    beforeQuery: ({ query }) => (query.includes(word) ? { refuse: `${word} refuses.` } : undefined),
    beforeAnswer: ({ answer }) => ({ replace: `${answer} ${word}` }),
  });
  await using system = await startSystem({ model: script([{ text: "Three." }]) });
  await system.connect(serviceOf("words", adds("words"), "spell"));
  await system.connect(serviceOf("desk", adds("desk")));

  expect(await system.query("How many?")).toMatchObject({ response: "Three. desk words" });
  for (const name of ["desk", "words"])
    expect(await system.query(`How many ${name}?`)).toMatchObject({
      code: "refused",
      errorMessage: `${name} refuses.`,
    });
});

test("a run whose service with the hook disconnects ends without its answer", async () => {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const model = scriptedModel(async () => {
    asked.resolve();
    await gone.promise;
    return `It is ${SECRET}.`;
  });
  await using system = await startSystem({ model, arrivalMs: 50 });
  const connection = await system.connect(serviceOf("desk", { beforeAnswer: () => undefined }));
  const answer = system.query("What is it?");
  await asked.promise;
  await connection.stop();
  gone.resolve();

  expect(await answer).toMatchObject({ success: false, code: "internal", response: "" });
});

test("an exported run contains the text that the hook returned", async () => {
  await using system = await startSystem({ model: script(careless.slice(1)) });
  await system.connect(
    serviceOf("desk", { beforeAnswer: ({ answer }) => ({ replace: answer.replaceAll(SECRET, "-") }) }),
  );
  const { runId } = await system.query("What is it?");

  expect(JSON.stringify(await exportRun(system.plane.store, runId))).not.toContain(SECRET);
});
