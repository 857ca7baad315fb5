import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { until } from "@patchbay/test-support/inbox";
import { testNats } from "@patchbay/test-support/nats";
import { type SentSpan, startOtlpReceiver } from "@patchbay/test-support/otlp";
import { testDatabase } from "@patchbay/test-support/postgres";
import { startStandIn } from "@patchbay/test-support/providers";
import { client } from "@patchbay/test-support/system";

const fromRoot = (path: string): string => JSON.stringify(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
const READY = /^\{"ready".*\}$/m;

/** A service whose only function makes a span of its own, and returns once the file `gate` exists. */
const sourceOf = (folder: string): string => `
import { existsSync, writeFileSync } from "node:fs";
import { trace } from ${fromRoot("node_modules/@opentelemetry/api/dist/index.mjs")};
import { defineFunction, defineService, everyone } from ${fromRoot("packages/functions/src/index.ts")};

export default defineService({
  name: "desk",
  functions: [
    defineFunction({
      name: "charge",
      description: "Charges a card.",
      input: { type: "object", properties: {} },
      roles: everyone,
      async handler() {
        trace.getTracer("owner").startSpan("insert charge").end();
        writeFileSync(${JSON.stringify(join(folder, "begun"))}, "");
        while (!existsSync(${JSON.stringify(join(folder, "gate"))})) await new Promise((go) => setTimeout(go, 10));
        return "charged";
      },
    }),
  ],
});
`;

/**
 * A client's query to a replica whose call runs at a runtime of another replica. The first replica is ended by `signal` while the
 * call runs. Returns all spans once the run has ended and the other processes have stopped.
 */
async function spansOver(signal: "SIGTERM" | "SIGKILL", nats: string) {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const receiver = opened.use(await startOtlpReceiver());
  const database = opened.use(await testDatabase());
  const standIn = opened.use(
    await startStandIn("anthropic", ({ step }) =>
      step === 0 ? { calls: [{ name: "charge", arguments: {} }] } : { text: "Done." },
    ),
  );
  await writeFile(join(folder.path, "service.ts"), sourceOf(folder.path));
  const place = ["--database", database.url];
  const admin = async (...args: string[]): Promise<Record<string, string>> => {
    const { stdout, stderr } = await runCommand([...args, ...place, "--json"], { cwd: folder.path });
    return JSON.parse(stdout || `{"failed":${JSON.stringify(stderr)}}`) as Record<string, string>;
  };
  const serve = async (name: string) => {
    const args = ["serve", "--port", "0", ...place, "--nats", nats, "--otel", "--json"];
    const env = { ...standIn.env, ...receiver.env, OTEL_SERVICE_NAME: name };
    const command = opened.use(startCommand(args, { cwd: folder.path, env }));
    const { baseUrl } = JSON.parse(await command.seen(READY)) as { baseUrl: string };
    return { command, url: baseUrl };
  };

  const first = await serve("first");
  const second = await serve("second");
  const { orgId = "" } = await admin("orgs", "create", "Test", "--tier", "sandbox");
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk", "--org", orgId);
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const runtime = opened.use(
    startCommand(["connect", "service.ts", "--url", second.url, "--agent", agentId, "--otel", "--json"], {
      cwd: folder.path,
      env: { ...receiver.env, PATCHBAY_RUNTIME_KEY: runtimeKey },
    }),
  );
  await runtime.seen(READY);

  const traceId = randomBytes(16).toString("hex");
  const clientSpan = randomBytes(8).toString("hex");
  const path = `/agents/${agentId}`;
  const keys = { agentId, apiKey, accessToken: "" };
  const accepted = await client(first, keys).post(
    `${path}/query`,
    { query: "Charge it." },
    { traceparent: `00-${traceId}-${clientSpan}-01`, prefer: "respond-async" },
  );
  const { runId } = (await accepted.json()) as { runId: string };
  await until(() => existsSync(join(folder.path, "begun")), "the call");
  // The spans that have ended by now are sent before the kill.
  await until(() => receiver.spans.some(({ name }) => name === "insert charge"), "the handler's span");
  await until(() => receiver.spans.some(({ name }) => name.startsWith("chat")), "the first attempt");
  first.command.process.kill(signal);
  await first.command.finished;
  await writeFile(join(folder.path, "gate"), "");

  const follower = await client(second, keys).get(`${path}/runs/${runId}/events`);
  expect(await follower.text()).toContain('"response":"Done."');
  for (const { process, finished } of [runtime, second.command]) {
    process.kill("SIGTERM");
    await finished;
  }
  return { spans: receiver.spans, traceId, clientSpan };
}

const named = (spans: readonly SentSpan[], name: string) => spans.filter((span) => span.name.startsWith(name));

/** The spans whose parent no process has sent. */
function withoutParent(spans: readonly SentSpan[], clientSpan: string): SentSpan[] {
  const known = new Set([clientSpan, ...spans.map(({ spanId }) => spanId)]);
  return spans.filter(({ parentSpanId = "" }) => !known.has(parentSpanId));
}

const nats = await testNats();
const testReplicas = nats === undefined ? test.skip : test.concurrent;

testReplicas("a replica that stops leaves one trace in which every span has its parent", async () => {
  const { spans, traceId, clientSpan } = await spansOver("SIGTERM", nats!);

  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(withoutParent(spans, clientSpan)).toEqual([]);
  const [before, after, ...more] = named(spans, "invoke_agent");
  expect(more).toEqual([]);
  expect(before).toMatchObject({ service: "first", attributes: { "patchbay.segment.end": "moved" } });
  expect(after).toMatchObject({ service: "second", attributes: { "patchbay.segment.end": "ended" } });
  expect(after!.links?.map(({ spanId }) => spanId)).toEqual([before!.spanId]);
  const [planes] = named(spans, "execute_tool charge").filter(({ service }) => service === "first");
  const [owners] = named(spans, "execute_tool charge").filter(({ service }) => service === "patchbay-runtime");
  expect(owners!.parentSpanId).toBe(planes!.spanId);
  expect(named(spans, "insert charge")[0]!.parentSpanId).toBe(owners!.spanId);
});

testReplicas("after a kill, only children of spans that were open in the killed process have no parent", async () => {
  const { spans, traceId, clientSpan } = await spansOver("SIGKILL", nats!);

  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const [after, ...more] = named(spans, "invoke_agent");
  expect(more).toEqual([]);
  expect(after).toMatchObject({ service: "second", parentSpanId: clientSpan });
  const [killed, ...others] = after!.links!.map(({ spanId }) => spanId);
  expect(others).toEqual([]);
  const orphans = withoutParent(spans, clientSpan);
  const [owners] = named(spans, "execute_tool charge").filter(({ service }) => service === "patchbay-runtime");
  // Open were the segment, to which the next one links, and the span of its call, below which the runtime's is.
  expect(orphans).toContainEqual(owners);
  const open = new Set([killed, owners!.parentSpanId]);
  expect(orphans.filter(({ parentSpanId }) => !open.has(parentSpanId))).toEqual([]);
  expect(orphans.map(({ name }) => name)).toContain(named(spans, "chat")[0]!.name);
});
