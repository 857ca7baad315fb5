import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineFunction, defineService, everyone, type Service } from "@patchbay/functions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { dialGateway, helloFrom, joinGateway } from "@patchbay/test-support/fake-runtime";
import { until } from "@patchbay/test-support/inbox";
import { type Script, type StandIn, startStandIn } from "@patchbay/test-support/providers";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

const common = { description: "A function.", input: z.object({}) };
const gate = Promise.withResolvers<void>();
const desk = (mayRefund: "everyone" | string[] = ["clerk"]): Service =>
  defineService({
    name: "desk",
    roles: ["clerk", "guest"],
    functions: [
      defineFunction({ ...common, name: "look_up", roles: everyone, handler: () => "found" }),
      defineFunction({ ...common, name: "refund", roles: mayRefund, handler: () => "refunded" }),
      defineFunction({ ...common, name: "hold", roles: everyone, handler: () => gate.promise }),
    ],
  });

const usage = { input: 1_000, output: 100 };
/** Calls the function that the query names, on its last line after the role, and then answers. */
const script: Script = ({ step, query }) =>
  step > 0 ? { text: "Done.", usage } : { calls: [{ name: query.split("\n").at(-1)!, arguments: {} }], usage };

let provider: StandIn;
beforeAll(async () => void (provider = await startStandIn("anthropic", script)));
afterAll(async () => {
  gate.resolve();
  await provider.close();
});

const start = (options: SystemOptions = {}) => startSystem({ providers: provider.config, ...options });
type System = Awaited<ReturnType<typeof start>>;

interface Cause {
  options?: SystemOptions;
  make(system: System): unknown;
}

const ask: Cause = { make: ({ query }) => query("look_up", { role: "guest" }) };
/** A run that has not ended when its metric is read. */
const hold: Cause = {
  async make({ stream, plane: { admin }, agentId }) {
    stream("hold", { role: "guest" }).catch(() => {}); // The system ends while it is open.
    await until(async () => (await admin.listRuns(agentId)).items.length > 0, "the run");
  },
};
const asRuntime = ({ runtimeKey }: System) => ({ Authorization: `Bearer ${runtimeKey}` });
const portOf = ({ url }: System) => Number(new URL(url).port);

/** What moves each metric: a cause, or the test that shows it. */
const CAUSES: Record<string, Cause | string> = {
  runs_total: ask,
  query_duration_seconds: ask,
  queries_total: ask,
  requests_total: ask,
  function_calls_total: ask,
  function_duration_seconds: ask,
  calls_denied_total: { make: ({ query }) => query("refund", { role: "guest" }) },
  model_turns_total: ask,
  model_duration_seconds: ask,
  model_first_token_seconds: ask,
  tokens_total: ask,
  cost_usd_total: ask,
  leases_held: hold,
  runs_open: hold,
  streams_open: hold,
  access_widened_total: { make: ({ connect }) => connect(desk(everyone), { deployment: "wider" }) },
  runtimes_connected: { make: ({ connect }) => connect(desk()) },
  runtimes_refused_total: {
    options: { limits: { connectionsPerKey: 1 } },
    make: async (system) => expect(await dialGateway(portOf(system), asRuntime(system)).refused).toBe(429),
  },
  runtime_frames_dropped_total: {
    options: { limits: { framesPerSecond: 1, frameBurst: 5 } },
    async make(system) {
      const runtime = await joinGateway(portOf(system), helloFrom("noisy"), asRuntime(system));
      const outcome = { ok: true, value: 1 };
      for (let i = 0; i < 25; i++) runtime.send({ type: "result", callId: `unknown-${i}`, attempt: 1, outcome });
    },
  },
  webhook_attempts_total: {
    options: { webhookNetworks: ["127.0.0.1"] },
    async make({ plane: { admin }, agentId }) {
      const receiver = createServer((_request, response) => response.end()).unref();
      await once(receiver.listen(0, "127.0.0.1"), "listening");
      await admin.setWebhook(agentId, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`);
      await admin.testWebhook(agentId);
    },
  },
  leases_lost_total: "packages/engine/test/run/taken-over.test.ts",
  runs_in_quarantine: "packages/control-plane/test/start/metrics.test.ts",
  index_backlog: "packages/control-plane/test/start/metrics.test.ts",
  open_fds: "packages/control-plane/test/start/metrics.test.ts",
  store_groups_failed: "packages/control-plane/test/start/metrics.test.ts",
  access_disagreements_total: "packages/engine/test/run/audit.test.ts",
  flow_disallowed_total: "test/contract/flows.test.ts",
  streams_waiting: "test/contract/open-streams.test.ts",
  streams_refused_total: "test/contract/open-streams.test.ts",
  build_info: "packages/control-plane/test/start/metrics.test.ts",
  bus_up: "packages/control-plane/test/start/metrics.test.ts",
  database_up: "packages/control-plane/test/start/metrics.test.ts",
  database_ping_seconds: "packages/control-plane/test/start/metrics.test.ts",
};
const isMade = (entry: [string, Cause | string]): entry is [string, Cause] => typeof entry[1] !== "string";
const MADE = Object.entries(CAUSES).filter(isMade);

const pageOf = async ({ plane }: System) => await (await fetch(plane.metricsUrl)).text();

/** The sum over the series of a metric of Patchbay; of a histogram, its observations. */
function valueOf(page: string, name: string): number {
  const series = page.matchAll(new RegExp(`^patchbay_${name}(?:_count)?(?:\\{.*\\})? (\\S+)$`, "gm"));
  return [...series].reduce((sum, [, value]) => sum + Number(value), 0);
}

test("every metric has a cause in this list, or a test that shows one", async () => {
  await using system = await start();

  const names = [...(await pageOf(system)).matchAll(/^# TYPE patchbay_(\S+)/gm)].map(([, name]) => name);
  expect(new Set(Object.keys(CAUSES))).toEqual(new Set(names));
  for (const [name, file] of Object.entries(CAUSES))
    if (typeof file === "string")
      expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toMatch(
        new RegExp(`\\b(patchbay_)?${name}\\b`),
      );
});

test("a service without a runtime that has done nothing has none of these figures", async () => {
  await using system = await start();

  const page = await pageOf(system);
  expect(MADE.map(([name]) => [name, valueOf(page, name)]).filter(([, value]) => value !== 0)).toEqual([]);
});

test.each(MADE)("%s moves for its cause", async (name, { make, options = {} }) => {
  await using system = await start({ service: desk(), ...options });

  await make(system);

  await until(async () => valueOf(await pageOf(system), name) > 0, name);
});

test("a runtime that disconnects, and a stream that ends, count no more", async () => {
  await using system = await start();
  const connection = await system.connect(desk());
  const { runId } = await system.query("look_up", { role: "guest" });
  await (await system.get(`/agents/${system.agentId}/runs/${runId}/events`)).text();
  await connection.stop();

  for (const name of ["runtimes_connected", "streams_open", "leases_held"])
    await until(async () => valueOf(await pageOf(system), name) === 0, name);
});
