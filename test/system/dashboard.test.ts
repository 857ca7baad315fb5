import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineFunction, defineService, everyone, FunctionError } from "@patchbay/functions";
import { scriptedModel } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "@patchbay/test-support/free-port";
import { until } from "@patchbay/test-support/inbox";
import { startSystem } from "@patchbay/test-support/system";

const at = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

const common = { description: "A function.", input: z.object({}), effect: "read" } as const;
const gate = Promise.withResolvers<void>();
const desk = defineService({
  name: "desk",
  roles: ["clerk", "guest"],
  functions: [
    defineFunction({ ...common, name: "look_up", roles: everyone, handler: () => "found" }),
    defineFunction({ ...common, name: "refund", roles: ["clerk"], handler: () => "refunded" }),
    defineFunction({ ...common, name: "hold", roles: everyone, handler: () => gate.promise }),
    defineFunction({
      ...common,
      name: "fail",
      roles: everyone,
      handler() {
        throw new FunctionError("It does not work.");
      },
    }),
  ],
});

/** A system whose model calls the functions that the query names, and then answers. */
const startDesk = () =>
  startSystem({
    service: desk,
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "user" ? { calls: last.text.split(" ").map((name) => [name, {}] as const) } : "Done.";
    }),
  });

type Desk = Awaited<ReturnType<typeof startDesk>>;

/** The value of each series of Patchbay; buckets and times left out. */
async function figures({ plane }: Pick<Desk, "plane">): Promise<Record<string, number>> {
  const page = await (await fetch(plane.metricsUrl)).text();
  const lines = page.split("\n").filter((line) => /^patchbay_(?!.*_(bucket|sum)\b)/.test(line));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice("patchbay_".length, end), Number(line.slice(end))] as const;
    }),
  );
}

/** Figures that move by themselves. */
const BY_ITSELF = /^(database_ping|index_backlog$|open_fds$|tokens)/;

/** The series whose value differs. */
const moved = (before: Record<string, number>, after: Record<string, number>) =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
      .filter(([name, by]) => by !== 0 && !BY_ITSELF.test(name)),
  );

test("each query, call and refusal moves its metrics, and no others", async () => {
  await using system = await startDesk();
  const { agentId } = system;
  const before = await figures(system);

  await system.query("look_up refund nothing fail", { role: "guest" });
  await system.post(`/agents/${agentId}/query`, { query: "look_up" }, { "x-api-key": "wrong" });

  const model = 'provider="scripted",model="scripted"';
  const calls = (name: string, outcome: string) =>
    `function_duration_seconds_count{agent="${agentId}",function="${name}",outcome="${outcome}"}`;
  expect(moved(before, await figures(system))).toEqual({
    'runs_total{outcome="succeeded"}': 1,
    query_duration_seconds_count: 1,
    'queries_total{endpoint="query",outcome="accepted"}': 1,
    'queries_total{endpoint="query",outcome="authentication_failed"}': 1,
    'requests_total{api="query",outcome="succeeded"}': 1,
    'requests_total{api="query",outcome="authentication_failed"}': 1,
    'function_calls_total{outcome="succeeded"}': 1,
    'function_calls_total{outcome="unknown_function"}': 2,
    'function_calls_total{outcome="function_failed"}': 1,
    'calls_denied_total{rule="roles"}': 1,
    'calls_denied_total{rule="unknown"}': 1,
    [calls("look_up", "succeeded")]: 1,
    [calls("fail", "failed")]: 1,
    'model_turns_total{provider="scripted",outcome="succeeded"}': 2,
    [`model_duration_seconds_count{${model}}`]: 2,
    [`model_first_token_seconds_count{${model}}`]: 1,
  });
});

test("every query of the dashboard returns data of a running service", { skip: !hasPrometheus }, async () => {
  await using system = await startDesk();
  await using prometheus = await startPrometheus(new URL(system.plane.metricsUrl).host);
  await prometheus.until('up{job="patchbay"} == 1');
  // A rate needs two scrapes with the series, of which the second one has grown.
  await prometheus.until("count(patchbay_build_info)");
  const ask = () => system.query("look_up refund fail", { role: "guest" });
  await ask();
  await prometheus.until("patchbay_calls_denied_total > 0");
  await ask();
  await prometheus.until("max(patchbay_calls_denied_total) > 1");
  const held = system.stream("hold", { role: "guest" });
  await prometheus.until("patchbay_streams_open > 0");
  await prometheus.until('patchbay_runs_open{state="running"} > 0');

  for (const expression of dashboardQueries()) await prometheus.until(expression);

  gate.resolve();
  await held;
});

test("the dashboard and the alerts name only metrics that a service has", async () => {
  await using system = await startDesk();
  const page = await (await fetch(system.plane.metricsUrl)).text();
  const known = new Set([...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const texts = [...dashboardQueries(), readFileSync(at("prometheus-alerts.yaml"), "utf8")];
  const named = texts.flatMap((text) => text.match(/\b(patchbay|nodejs|process)_\w+(?=[{[])/g) ?? []);

  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !known.has(name.replace(/_(bucket|count|sum)$/, "")) && !known.has(name))).toEqual([]);
});

/** The expressions of the dashboard, as Grafana sends them for all replicas. */
function dashboardQueries(): string[] {
  const { panels } = JSON.parse(readFileSync(at("grafana-dashboard.json"), "utf8")) as {
    panels: { targets?: { expr: string }[] }[];
  };
  return panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr }) =>
      expr.replaceAll("$job", "patchbay").replaceAll("$instance", ".*").replaceAll("$__rate_interval", "5m"),
    );
}

/** Prometheus on loopback, which scrapes the address every second. Its data is deleted when it is disposed. */
async function startPrometheus(target: string) {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-prometheus-"));
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: [{ job_name: "patchbay", static_configs: [{ targets: [target] }] }],
  };
  // JSON is YAML.
  await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
  const port = await freePort();
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));

  async function ask(expression: string): Promise<unknown[]> {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`;
    const { status, data } = (await (await fetch(url)).json()) as { status: string; data?: { result: unknown[] } };
    if (status !== "success") throw new Error(`Prometheus refused ${expression}`);
    return data?.result ?? [];
  }
  return {
    until: (expression: string) => until(async () => (await ask(expression).catch(() => [])).length > 0, expression),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
