import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "../../packages/engine/test/run/scripted-model.ts";
import type { ChosenModel } from "@patchbay/engine/ports/model-provider";
import { answerOf } from "../../packages/server/test/http/support/fake-runs.ts";
import { API_KEY, startHttp, STREAM, type TestHttp } from "../../packages/server/test/http/support/start-http.ts";
import { hasNginx, startNginx, type NginxOptions } from "../support/nginx.ts";
import { readAlong } from "@patchbay/test-support/reader";
import { client, startSystem } from "@patchbay/test-support/system";

/** Replaces `proxy_read_timeout 300s` of the file, for a short test. */
const readTimeout = (seconds: number) => ({ "proxy_read_timeout 300s;": `proxy_read_timeout ${seconds}s;` });

/** A service whose only function ends when the test ends it; the model calls it once and then answers. */
async function startWithService(options: Partial<NginxOptions> = {}) {
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
    /** Ends the current or the next call of the function. */
    open: () => gates[opened++]?.resolve(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

describe.runIf(hasNginx())("event streams through nginx", () => {
  test("events arrive as they are sent, also while a function still runs", async () => {
    await using desk = await startWithService();
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
    // Buffered events would arrive only after the function ends; the time is only printed.
    console.log(`first event through nginx: best ${best.toFixed(0)} ms, median ${median?.toFixed(0)} ms of 5`);
  });

  test("keepalives keep a stream open that is silent for longer than the read timeout", async () => {
    await using http = await startHttp({ keepaliveMs: 200 });
    await using nginx = await startNginx({ replicas: [http.port], replace: readTimeout(5) });
    const reader = readAlong(await openStream(http, nginx.url));
    await sleep(6_000);
    expect(reader.text).toMatch(/(: keepalive\n\n){2}$/);
    const [run] = http.runs.runs.values();
    const { result, event } = answerOf(run!);
    run!.end(result, event);
    expect(await reader.over).toBe(true);
  });

  test("without keepalives the read timeout cuts it", async () => {
    await using http = await startHttp({ keepaliveMs: 60_000 });
    await using nginx = await startNginx({ replicas: [http.port], replace: readTimeout(1) });
    const reader = readAlong(await openStream(http, nginx.url));
    expect(await reader.over).toBe(false);
  });

  test("the response has the headers of the service, including the one for other proxies", async () => {
    await using desk = await startWithService();
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

/** A stream, through nginx, of a run without events. */
function openStream(http: TestHttp, url: string): Promise<Response> {
  http.runs.onBegin = () => undefined;
  const headers = { "content-type": "application/json", "x-api-key": API_KEY };
  return fetch(url + STREAM, { method: "POST", headers, body: JSON.stringify({ query: "hi" }) });
}
