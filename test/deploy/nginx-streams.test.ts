import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "../../packages/control-plane/test/run/scripted-model.ts";
import type { ChosenModel } from "../../packages/control-plane/src/ports/model-provider.ts";
import { answerOf } from "../../packages/control-plane/test/http/support/fake-runs.ts";
import {
  API_KEY,
  startHttp,
  STREAM,
  type TestHttp,
} from "../../packages/control-plane/test/http/support/start-http.ts";
import { hasNginx, startNginx, type NginxOptions } from "../support/nginx.ts";
import { readAlong } from "../support/reader.ts";
import { client, startSystem } from "../support/system.ts";

/** As `proxy_read_timeout 300s` in the shipped file, for a test that cannot wait so long. */
const IMPATIENT = { "proxy_read_timeout 300s;": "proxy_read_timeout 1s;" };

/** A desk whose only function ends when the test says so; the model calls it once and then answers. */
async function startDesk(options: Partial<NginxOptions> = {}) {
  await using opening = new AsyncDisposableStack();
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  let [called, opened] = [0, 0];
  const { catalog } = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "results" ? { text: "Done." } : { thoughts: ["Next."], calls: [["wait_for_it", {}]] },
  );
  const service = defineService({
    name: "slow",
    functions: [
      defineFunction({
        name: "wait_for_it",
        description: "Waits.",
        input: { type: "object" },
        roles: everyone,
        effect: "read",
        handler: () => gates[called++]?.promise.then(() => "came"),
      }),
    ],
  });
  const system = opening.use(await startSystem({ service, model: (catalog.choose() as ChosenModel).provider }));
  const nginx = opening.use(await startNginx({ replicas: [system.plane.port], ...options }));
  const held = opening.move();
  return {
    ...client(nginx, system),
    system,
    nginx,
    path: `/agents/${system.agentId}`,
    /** Ends the next call of the function, begun or not. */
    open: () => gates[opened++]?.resolve(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

describe.runIf(hasNginx())("event streams through nginx", () => {
  test("the first event comes at once, and each as it is sent while a function still runs", async () => {
    await using desk = await startDesk();
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const startedAt = performance.now();
      const reader = readAlong(await desk.post(`${desk.path}/query-stream`, { query: "Go" }));
      await reader.seen(/"thought"/);
      times.push(performance.now() - startedAt);
      await reader.seen(/"toolCall"/);
      expect(reader.text).not.toContain("toolResult");

      desk.open();
      expect(await reader.over).toBe(true);
      expect(reader.text).toMatch(/"toolResult".*\n\nid: \d+\ndata: \{"type":"finalResponse"/s);
    }
    const [best = Infinity, , median] = times.sort((a, b) => a - b);
    // Buffered events would not arrive at all before the function ends; the time itself is only printed.
    console.log(`first event through nginx: best ${best.toFixed(0)} ms, median ${median?.toFixed(0)} ms of 5`);
  });

  test("a stream that is silent for longer than the read time-out lives by its keepalives", async () => {
    await using http = await startHttp({ keepaliveMs: 200 });
    await using nginx = await startNginx({ replicas: [http.port], replace: IMPATIENT });
    const reader = readAlong(await openStream(http, nginx.url));
    await reader.seen(/(: keepalive\n\n){15}/);
    const [run] = http.runs.runs.values();
    const { result, event } = answerOf(run!);
    run!.end(result, event);
    expect(await reader.over).toBe(true);
  });

  test("without them the read time-out cuts it: the keepalives are what keeps it", async () => {
    await using http = await startHttp({ keepaliveMs: 60_000 });
    await using nginx = await startNginx({ replicas: [http.port], replace: IMPATIENT });
    const reader = readAlong(await openStream(http, nginx.url));
    expect(await reader.over).toBe(false);
  });

  test("the answer's headers are the service's own, the one for further proxies included", async () => {
    await using desk = await startDesk();
    desk.open();
    const { headers } = await desk.stream("Go", {}, { "x-request-id": "my-request.1", "accept-encoding": "gzip" });
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": "my-request.1",
      "x-run-id": expect.stringMatching(/^run_/),
    });
    expect(headers.get("content-encoding")).toBeNull();
  });
});

/** A stream, through nginx, of a run that never says anything by itself. */
function openStream(http: TestHttp, url: string): Promise<Response> {
  http.runs.onBegin = () => undefined;
  const headers = { "content-type": "application/json", "x-api-key": API_KEY };
  return fetch(url + STREAM, { method: "POST", headers, body: JSON.stringify({ query: "hi" }) });
}
