import type { QueryResponse } from "@patchbay/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { printFigure } from "@patchbay/test-support/figures";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment, type Running } from "../support/processes.ts";
import { startStandIn, type ScriptedTurn, type StandIn } from "@patchbay/test-support/providers";
import type { ScriptedCall } from "@patchbay/test-support/providers/script";
import { readAlong, type Reader } from "@patchbay/test-support/reader";

/** Moments of a run at which its control plane is killed. The query of a run is the name of its moment. */
const MOMENTS = ["model-answers", "call-runs", "results-are-in", "stream-is-read", "waits-its-turn"] as const;
type Moment = (typeof MOMENTS)[number];
/** One more run, at endpoint 1 with an Idempotency-Key, is interrupted while its call runs. */
const KEYED = { "idempotency-key": "order-7" };

let standIn: StandIn;
let deployment: Deployment;
let runtime: Running;
const readers = new Map<Moment, Reader>();
const whole = new Map<Moment, string>();
let joined: QueryResponse;

const charge = (id: string): ScriptedCall => ({ name: "charge", arguments: { id } });
const fetchRecord = (id: string): ScriptedCall => ({ name: "fetch_record", arguments: { id } });
const calls: Record<string, ScriptedCall[][]> = {
  "call-runs": [[charge("held-1"), fetchRecord("held-2")]],
  "results-are-in": [[charge("3"), charge("4")]],
  "stream-is-read": [[charge("5")], [fetchRecord("6"), charge("7")]],
  "waits-its-turn": [[charge("8")]],
  keyed: [[charge("held-9")]],
};
/** Turns that do not end before the kill. */
const STUCK = new Set(["model-answers 0", "results-are-in 1", "stream-is-read 2"]);

function script({ query, step }: { query: string; step: number }): ScriptedTurn | Promise<ScriptedTurn> {
  if (STUCK.delete(`${query} ${step}`)) return new Promise(() => {});
  const wanted = calls[query]?.[step];
  return wanted ? { thoughts: [`Step ${step} – “ß” 🧭`], calls: wanted } : { text: `Done: ${query}.` };
}

async function ask(moment: Moment, body: object = {}): Promise<Reader> {
  const reader = readAlong(
    await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query: moment, ...body }),
  );
  readers.set(moment, reader);
  return reader;
}

async function resume({ runId }: Reader, after: number): Promise<Reader> {
  const path = `/agents/${deployment.agentId}/runs/${runId}/events`;
  return readAlong(await deployment.get(path, { "last-event-id": String(after) }));
}

beforeAll(async () => {
  standIn = await startStandIn("anthropic", script);
  deployment = await startDeployment({ env: standIn.env, tier: "growth" });
  runtime = await deployment.connect();

  const { threadId } = await deployment.query("Begin");
  const lost = deployment.query("keyed", {}, KEYED).catch((error: unknown) => error);
  await Promise.all([
    ask("model-answers"),
    ask("call-runs", { threadId }),
    ask("results-are-in"),
    ask("stream-is-read"),
  ]);
  await readers.get("stream-is-read")!.seen(/id: 8\n[^]*\n\n$/);
  await until(() => STUCK.size === 0 && deployment.functionRuns().length === 8, "every run at its moment");
  await ask("waits-its-turn", { threadId });

  await deployment.kill(deployment.serve);
  await Promise.all([...readers.values()].map(({ over }) => over));
  expect(await lost).toBeInstanceOf(Error);
  await deployment.restart();

  const again = deployment.query("keyed", {}, KEYED);
  const resumed = await Promise.all(MOMENTS.map((moment) => resume(readers.get(moment)!, 0)));
  for (const id of ["held-1", "held-2", "held-9"]) await deployment.open(id);
  expect(await Promise.all(resumed.map(({ over }) => over))).toEqual(MOMENTS.map(() => true));
  for (const [index, moment] of MOMENTS.entries()) whole.set(moment, resumed[index]!.text);
  joined = await again;
});

afterAll(async () => {
  await deployment?.[Symbol.asyncDispose]();
  await standIn?.close();
});

test.each(MOMENTS)(
  "a run whose control plane is killed while it %s ends, and loses no event that a client received",
  async (moment) => {
    const log = whole.get(moment)!;
    const received = readers.get(moment)!;

    expect(log.slice(0, received.text.length)).toBe(received.text);
    expect(log).toContain(`"response":"Done: ${moment}."`);
    const ids = [...log.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
  },
);

test("a client that resumes after the kill receives exactly the events that it missed", async () => {
  const reader = readers.get("stream-is-read")!;
  expect(reader.lastId).toBe(8);

  const rest = await resume(reader, reader.lastId);
  await rest.over;

  expect(reader.text + rest.text).toBe(whole.get("stream-is-read"));
});

test("the same Idempotency-Key joins its run after the restart", () => {
  printFigure("key repeated after a crash", { joined: joined?.success ? 1 : 0, asked: 1 });
  expect(joined).toMatchObject({ success: true, response: "Done: keyed.", toolInteractions: [{ success: true }] });
});

test("no function ran twice, and running calls were adopted", () => {
  const ran = deployment.functionRuns().map(({ id, attempt, pid }) => `${id} attempt ${attempt} by ${pid}`);

  expect(ran.toSorted((a, b) => a.localeCompare(b))).toEqual(
    ["3", "4", "5", "6", "7", "8", "held-1", "held-2", "held-9"].map(
      (id) => `${id} attempt 1 by ${runtime.process.pid}`,
    ),
  );
});

test("every log is consistent, and every step is charged once", async () => {
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: 7, succeeded: 7 });
});
