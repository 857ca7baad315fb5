import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { startOtlpReceiver } from "@patchbay/test-support/otlp";
import { client } from "@patchbay/test-support/system";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

/** Makes the SDK one that is not installed. */
const WITHOUT_SDK = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "@opentelemetry/sdk-node") return next(specifier, context);
    throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  },
});`;

test("--otel without the SDK says how to install it, and starts nothing", async () => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await runCommand(["serve", "--otel", "--port", "0", "--data-dir", folder.path], {
    env: { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(WITHOUT_SDK)}"` },
  });

  expect(code).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain("npm install @opentelemetry/sdk-node");
});

const CLIENT_SPAN = "b7ad6b7169203331";
const [OF_QUERY, OF_MCP] = ["a".repeat(32), "b".repeat(32)] as const;
const contextOf = (traceId: string) => ({ traceparent: `00-${traceId}-${CLIENT_SPAN}-01` });

test("dev --otel sends the spans of both processes: the owner's are below the control plane's, over MCP too", async () => {
  await using folder = await temporaryFolder();
  await using receiver = await startOtlpReceiver();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  const headers = join(folder.path, "otlp-headers");
  await writeFile(headers, "Authorization=Basic c2VjcmV0\n");
  await using dev = startCommand(["dev", "service.ts", "--port", "0", "--otel", "--json"], {
    cwd: folder.path,
    env: { ...receiver.env, OTEL_EXPORTER_OTLP_HEADERS_FILE: headers },
  });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as { baseUrl: string; agentId: string; apiKey: string };
  const { baseUrl: url, agentId, apiKey } = ready;

  await client({ url }, { agentId, apiKey, accessToken: "" }).query('Greet "Ann"', {}, contextOf(OF_QUERY));
  await using mcp = await mcpClient({ url, agentId, apiKey });
  await mcp.callTool({ name: "greet", arguments: { name: "Ann" }, _meta: contextOf(OF_MCP) });
  // The function process is ended 4 s after the signal, also when it has not sent its spans yet.
  const ofRuntime = () => receiver.spans.filter(({ service }) => service === "patchbay-runtime").length;
  await expect.poll(ofRuntime).toBeGreaterThan(1);
  dev.process.kill("SIGTERM");
  await dev.finished;

  expect([...receiver.credentials]).toEqual(["Basic c2VjcmV0"]);
  for (const traceId of [OF_QUERY, OF_MCP]) {
    const spans = receiver.spans.filter((span) => span.traceId === traceId);
    const named = (name: string, service: string) =>
      spans.find((span) => span.name === name && span.service === service);
    const root = spans.find(({ name }) => name.startsWith("invoke_agent"));
    expect(root).toMatchObject({ service: "patchbay", parentSpanId: CLIENT_SPAN });
    const call = named("execute_tool greet", "patchbay");
    expect(call).toMatchObject({ parentSpanId: root!.spanId });
    expect(named("execute_tool greet", "patchbay-runtime")).toMatchObject({ parentSpanId: call!.spanId });
  }
});
