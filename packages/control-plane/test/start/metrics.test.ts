import { expect, test } from "vitest";
import { createMetrics } from "../../src/start/metrics.ts";

test("recorded metrics are read in the format of Prometheus", async () => {
  const metrics = createMetrics();
  metrics.queryAnswered("query", "accepted");
  metrics.queryAnswered("local", "rate_limited");
  metrics.runEnded("succeeded", 1500);
  metrics.runEnded("insufficient_credits", 2);
  metrics.callEnded("denied");
  metrics.accessWidened();
  metrics.modelTurn("openai", "rate_limited");
  metrics.tokensUsed("openai", { input: 10, cachedInput: 4, cacheWriteInput: 2, output: 3 });
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
      'patchbay_model_turns_total{provider="openai",outcome="rate_limited"} 1',
      'patchbay_tokens_total{provider="openai",kind="cached_input"} 4',
      'patchbay_tokens_total{provider="openai",kind="cache_write_input"} 2',
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

test("two control planes in one process do not share metrics", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.callEnded("denied");
  expect(await other.read()).not.toContain('outcome="denied"');
});
