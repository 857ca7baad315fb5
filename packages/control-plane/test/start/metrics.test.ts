import { expect, test } from "vitest";
import { createMetrics } from "../../src/start/metrics.ts";

const MODEL = { provider: "openai", model: "gpt-6" };

test("recorded metrics are read in the format of Prometheus", async () => {
  const metrics = createMetrics();
  metrics.queryAnswered("query", "accepted");
  metrics.queryAnswered("local", "rate_limited");
  metrics.runEnded("succeeded", 1500);
  metrics.runEnded("insufficient_credits", 2);
  metrics.callEnded({ agentId: "agt_1", outcome: "unknown_function", rule: "unknown" });
  metrics.callEnded({ agentId: "agt_1", functionName: "look_up", outcome: "succeeded", ms: 40 });
  metrics.callEnded({ agentId: "agt_1", functionName: "look_up", outcome: "denied", rule: "authorize", ms: 4 });
  metrics.callEnded({ agentId: "agt_1", functionName: "look_up", outcome: "timed_out", ms: 400 });
  metrics.accessWidened();
  metrics.modelTurn({ ...MODEL, outcome: "rate_limited" });
  metrics.modelTurn({ ...MODEL, outcome: "succeeded", ms: 800, firstTokenMs: 200 });
  metrics.turnBilled(MODEL, { input: 10, cachedInput: 4, cacheWriteInput: 2, output: 3 }, 1_500_000);
  metrics.leaseHeld();
  metrics.leaseHeld()[Symbol.dispose]();
  metrics.leaseLost();
  metrics.requestAnswered("console", "not_found");
  metrics.runtimeConnected();
  metrics.runtimeConnected();
  metrics.runtimeDisconnected();
  const open = metrics.streamOpened();
  metrics.streamOpened()[Symbol.dispose]();
  metrics.streamRefused("streamsPerRun");
  const waiting = metrics.streamWaiting();

  const page = await metrics.read();

  expect(page.split("\n")).toEqual(
    expect.arrayContaining([
      'patchbay_queries_total{endpoint="query",outcome="accepted"} 1',
      'patchbay_queries_total{endpoint="local",outcome="rate_limited"} 1',
      'patchbay_runs_total{outcome="succeeded"} 1',
      'patchbay_runs_total{outcome="insufficient_credits"} 1',
      'patchbay_query_duration_seconds_bucket{le="2.5"} 2',
      'patchbay_query_duration_seconds_bucket{le="300"} 2',
      'patchbay_function_calls_total{outcome="denied"} 1',
      'patchbay_calls_denied_total{rule="unknown"} 1',
      'patchbay_calls_denied_total{rule="authorize"} 1',
      'patchbay_function_duration_seconds_bucket{le="0.05",agent="agt_1",function="look_up",outcome="succeeded"} 1',
      'patchbay_function_duration_seconds_bucket{le="0.01",agent="agt_1",function="look_up",outcome="denied"} 1',
      'patchbay_function_duration_seconds_sum{agent="agt_1",function="look_up",outcome="failed"} 0.4',
      'patchbay_model_duration_seconds_sum{provider="openai",model="gpt-6"} 0.8',
      'patchbay_model_first_token_seconds_sum{provider="openai",model="gpt-6"} 0.2',
      'patchbay_cost_usd_total{provider="openai",model="gpt-6"} 1.5',
      "patchbay_leases_held 1",
      "patchbay_leases_lost_total 1",
      'patchbay_requests_total{api="console",outcome="not_found"} 1',
      'patchbay_model_turns_total{provider="openai",outcome="rate_limited"} 1',
      'patchbay_tokens_total{provider="openai",model="gpt-6",kind="cached_input"} 4',
      'patchbay_tokens_total{provider="openai",model="gpt-6",kind="cache_write_input"} 2',
      "patchbay_access_widened_total 1",
      "patchbay_runtimes_connected 1",
      "patchbay_streams_open 1",
      'patchbay_streams_refused_total{limit="streamsPerRun"} 1',
      "patchbay_streams_waiting 1",
    ]),
  );
  expect(page).toContain("process_cpu_user_seconds_total");
  open[Symbol.dispose]();
  waiting[Symbol.dispose]();
  expect(await metrics.read()).toContain("patchbay_streams_waiting 0");
});

test("names of functions and models beyond the limit are counted as other", async () => {
  const metrics = createMetrics();
  for (let i = 0; i < 500; i++) {
    metrics.callEnded({ agentId: `agt_${i % 5}`, functionName: `function_${i}`, outcome: "succeeded", ms: 1 });
    metrics.modelTurn({ provider: "openai", model: `model-${i}`, outcome: "succeeded", ms: 1 });
  }

  const page = await metrics.read();

  expect(page).toContain('patchbay_function_duration_seconds_count{agent="agt_4",function="function_199",');
  expect(page).not.toContain("function_200");
  expect(page).toContain(
    'patchbay_function_duration_seconds_count{agent="other",function="other",outcome="succeeded"} 300',
  );
  expect(page).toContain('patchbay_model_duration_seconds_count{provider="openai",model="other"} 450');
});

test("a model that never answered has no label of its own", async () => {
  const metrics = createMetrics();
  metrics.modelTurn({ provider: "openai", model: "c4n4ry", outcome: "unknown_model" });

  expect(await metrics.read()).not.toContain("c4n4ry");
});

test("refusals begin at 0, so that Prometheus sees the first one of each reason as an increase", async () => {
  const page = await createMetrics().read();

  expect(page).toContain('patchbay_runtimes_refused_total{reason="authentication_failed"} 0');
  expect(page).toContain('patchbay_streams_refused_total{limit="streamsPerKey"} 0');
});

test("nodejs_eventloop_lag_p99_seconds is the time in which the event loop was blocked", async () => {
  const metrics = createMetrics();
  const scrape = async () => /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await metrics.read())?.[1];
  const block = (): void => {
    for (const began = performance.now(); performance.now() - began < 200;);
  };

  // The delay is measured between two turns of the event loop: after a scrape, one must pass before the block and one after it.
  let round = 0;
  const measured = async () => (round++ % 2 === 0 ? block() : Number(await scrape()));
  await expect.poll(measured).toBeGreaterThan(0.15);
});

/** Sources of a healthy replica. */
const healthy = () => ({
  version: "1.2.3",
  database: "postgres" as const,
  bus: { healthy: true },
  files: { count: async () => 42 },
  store: {
    ping: async () => {},
    failedGroups: () => ({ steps: 2, starts: 0 }),
    index: { backlog: () => 7 },
    runs: { openCounts: async () => ({ queued: 3, running: 6, waiting: 1, quarantined: 4 }) },
  },
});

test("a scrape reads the build, the database, the bus and the open runs", async () => {
  const page = await createMetrics({ health: healthy() }).read();

  expect(page).toContain(`patchbay_build_info{version="1.2.3",node="${process.version}",database="postgres"} 1\n`);
  expect(page).toMatch(/^patchbay_database_ping_seconds [\d.e-]+$/m);
  for (const line of [
    "database_up 1",
    "bus_up 1",
    "open_fds 42",
    "index_backlog 7",
    'store_groups_failed{kind="steps"} 2',
    'store_groups_failed{kind="starts"} 0',
    "runs_in_quarantine 4",
    ...OPEN.map(([state, count]) => `runs_open{state="${state}"} ${count}`),
  ])
    expect(page).toContain(`patchbay_${line}\n`);
});

const OPEN = [
  ["queued", 3],
  ["running", 6],
  ["waiting", 1],
] as const;

test("a database or a bus that is down is a value, and not a failed scrape", async () => {
  const fail = () => Promise.reject(new Error("down"));
  const store = { ...healthy().store, ping: fail, runs: { openCounts: fail } };
  const page = await createMetrics({ health: { ...healthy(), bus: { healthy: false }, store } }).read();

  expect(page).toContain("patchbay_database_up 0\n");
  expect(page).toContain("patchbay_bus_up 0\n");
  expect(page).not.toMatch(/^patchbay_(database_ping_seconds|runs_open|runs_in_quarantine) ?[{\d]/m);
});

test("scrapes that follow each other share one answer of the database", async () => {
  let pings = 0;
  const { store, ...rest } = healthy();
  const metrics = createMetrics({ health: { ...rest, store: { ...store, ping: async () => void pings++ } } });

  await Promise.all([metrics.read(), metrics.read()]);
  await metrics.read();

  expect(pings).toBe(1);
});

test("two control planes in one process do not share metrics", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.callEnded({ agentId: "agt_1", outcome: "denied" });
  expect(await other.read()).not.toContain('outcome="denied"');
});
