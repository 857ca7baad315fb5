import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore, violations } from "@patchbay/control-plane/admin";
import type { RunDetail } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { testDatabase } from "@patchbay/test-support/postgres";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { type Deployment, startDeployment } from "../support/processes.ts";

/** In `.ci/full`, functions run for five minutes, and five minutes pass before the call of a killed runtime is lost. */
const isFull = process.env["PATCHBAY_TEST_KILLS"] === "all";
const RUNS_MS = isFull ? 300_000 : 2_000;
const GONE_MS = 300_000;
const PLACES = { SQLite: async () => undefined, Postgres: () => testDatabase() };

/** A control plane on an embedded database or on Postgres, whose model calls both detached functions. */
async function startDesk(open: (typeof PLACES)[keyof typeof PLACES]) {
  await using opening = new AsyncDisposableStack();
  const database = opening.use((await open()) ?? { url: undefined, [Symbol.asyncDispose]: async () => {} });
  const calls = ["export_all", "charge_all"].map((name) => ({ name, arguments: { id: "held" } }));
  const standIn = opening.adopt(
    await startStandIn(
      "anthropic",
      callThenAnswer(calls, () => "Done."),
    ),
    (one) => one.close(),
  );
  const options = { env: standIn.env, ...(database.url !== undefined && { database: database.url }) };
  const deployment = opening.use(await startDeployment(options));
  const url = database.url ?? `sqlite:${deployment.databaseFile}`;
  const opened = opening.move();
  return {
    deployment,
    /** Lets the runtimes that have no connection be away for five minutes. */
    async passGoneTime(): Promise<void> {
      if (isFull) return;
      const aged = `update runtimes set last_seen_at = last_seen_at - ${GONE_MS} where connected = 0`;
      if ("query" in database) return void (await database.query(aged));
      using file = new DatabaseSync(deployment.databaseFile, { timeout: 5_000 });
      file.exec(aged);
    },
    async expectSound(): Promise<void> {
      const store = await openStore(url, { readOnly: true });
      expect((await violations(store).finally(() => store.close())).violations).toEqual([]);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Starts a run whose client does not wait, and returns it once both handlers run and the run waits for them. */
async function startRun({ post, get, agentId, functionRuns }: Deployment) {
  const response = await post(
    `/agents/${agentId}/query`,
    { query: "Export and charge all", role: "clerk" },
    { "idempotency-key": "k", prefer: "respond-async" },
  );
  expect(response.status).toBe(202);
  const { runId } = (await response.json()) as { runId: string };
  const detail = async () => (await (await get(`/agents/${agentId}/runs/${runId}`)).json()) as RunDetail;
  await until(async () => (await detail()).status === "waiting" && functionRuns().length === 2, "the run to wait");
  expect(await detail()).toMatchObject({ waitingFor: "function", calls: [{}, {}] });
  return { runId, detail };
}

const ended = ({ query }: Deployment) =>
  query("Export and charge all", { role: "clerk" }, { "idempotency-key": "k", prefer: "wait=240" });

const names = ({ functionRuns }: Deployment): string[] =>
  functionRuns()
    .map(({ name, attempt }) => `${name} ${attempt}`)
    .toSorted();

test.concurrent.each(Object.entries(PLACES))(
  "on %s, detached functions that end while their control plane is down continue their run",
  async (_, open) => {
    await using desk = await startDesk(open);
    const { deployment } = desk;
    await deployment.connect();
    const { runId } = await startRun(deployment);

    await deployment.kill(deployment.serve);
    await deployment.restart();
    await sleep(RUNS_MS);
    await deployment.kill(deployment.serve);
    await deployment.open("held");
    await deployment.restart();

    expect(await ended(deployment)).toMatchObject({
      success: true,
      response: "Done.",
      runId,
      toolInteractions: [
        { toolName: "export_all", success: true },
        { toolName: "charge_all", success: true },
      ],
    });
    expect(names(deployment)).toEqual(["charge_all 1", "export_all 1"]);
    await desk.expectSound();
  },
);

test.concurrent.each(Object.entries(PLACES))(
  "on %s, a detached function of a killed runtime begins once more if it is idempotent, and ends as unknown otherwise",
  async (_, open) => {
    await using desk = await startDesk(open);
    const { deployment } = desk;
    const victim = await deployment.connect();
    const { detail } = await startRun(deployment);

    await deployment.kill(victim);
    await deployment.connect();
    await until(async () => {
      await desk.passGoneTime();
      return deployment.functionRuns().length === 3;
    }, "the second attempt");
    await until(async () => (await detail()).calls?.length === 1, "the run to wait again");
    await deployment.kill(deployment.serve);
    await deployment.restart();
    await sleep(RUNS_MS);
    await deployment.open("held");

    expect(await ended(deployment)).toMatchObject({
      success: true,
      toolInteractions: [
        { toolName: "export_all", success: true },
        { toolName: "charge_all", success: false, code: "outcome_unknown" },
      ],
    });
    expect(names(deployment)).toEqual(["charge_all 1", "export_all 1", "export_all 2"]);
    await desk.expectSound();
  },
);
