import { defineFunction, defineService } from "@patchbay/functions";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { callsOnce } from "../support/call-models.ts";
import { signIn } from "../support/console.ts";
import { until } from "@patchbay/test-support/inbox";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { keepSpans, pathsOf } from "../support/spans.ts";
import { startSystem } from "@patchbay/test-support/system";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const CLIENT = { traceparent: `00-${TRACE}-${SPAN}-01` };
const OTHER = { traceparent: "00-11111111111111111111111111111111-2222222222222222-01" };

let kept: ReturnType<typeof keepSpans>;
beforeEach(() => void (kept = keepSpans()));
afterEach(() => kept[Symbol.dispose]());

const service = defineService({
  name: "desk",
  functions: [
    defineFunction({
      name: "look_up",
      description: "Looks up.",
      input: z.object({}),
      roles: "everyone",
      handler: () => "found",
    }),
  ],
});

type System = Awaited<ReturnType<typeof startSystem>>;
type Headers = Record<string, string>;
/** Begins a run at one adapter, with these headers. */
type Adapter = (system: System, headers: Headers) => Promise<unknown>;

const posted =
  (path: string, bodyFor: (system: System) => object): Adapter =>
  async (system, headers) => {
    const response = await system.post(`/agents/${system.agentId}${path}`, bodyFor(system), headers);
    expect(response.status, await response.text()).toBe(200);
  };

const completion =
  (more: object) =>
  ({ agentId }: System) => ({ model: agentId, messages: [{ role: "user", content: "Which?" }], ...more });

const chat = { id: "chat-1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Which?" }] }] };

const byMcp =
  (era: "2025" | "2026", own: Headers = {}, expose = "functions"): Adapter =>
  async (system, headers) => {
    await using client = await mcpClient(system, { era, headers, expose });
    const tool = expose === "agent" ? { name: "ask_desk", arguments: { query: "Which?" } } : { name: "look_up" };
    const result = await client.callTool({ ...tool, _meta: own });
    expect(result.isError).toBeFalsy();
  };

const byMember =
  (path: string, body: object, status = 200): Adapter =>
  async (system, headers) => {
    const ask = await signIn(system.plane, system.orgId);
    const response = await ask(`/agents/${system.agentId}${path}`, { method: "POST", body, headers });
    expect(response.status, await response.text()).toBe(status);
  };

const rerun: Adapter = async (system, headers) => {
  const { runId } = await system.query("Which?");
  await until(() => roots().length === 1, "the span of the run to repeat");
  kept.reset();
  await byMember(`/runs/${runId}/reruns`, {}, 201)(system, headers);
};

const ADAPTERS: Record<string, Adapter> = {
  "a streamed query": posted("/query-stream", () => ({ query: "Which?" })),
  "a chat completion": posted("/v1/chat/completions", completion({})),
  "a streamed chat completion": posted("/v1/chat/completions", completion({ stream: true })),
  "a message of the AI SDK": posted("/ui-stream", () => chat),
  "a call of MCP in 2025": byMcp("2025"),
  "a call of MCP in 2026": byMcp("2026"),
  "a query of MCP": byMcp("2026", {}, "agent"),
  "the playground": byMember("/playground", { query: "Which?" }),
  "a test call": byMember("/functions/look_up/test-calls", { arguments: {} }),
  "a streamed test call": byMember("/functions/look_up/test-calls-stream", { arguments: {} }),
  "a repeated run": rerun,
};

const startDesk = () => startSystem({ service, model: callsOnce("look_up") });

const roots = () => kept.spans.filter(({ name }) => name === "invoke_agent Desk");

/** The span of the one run. It ends after the answer is sent. */
async function rootOf() {
  await until(() => roots().length > 0, "the span of the run");
  expect(roots()).toHaveLength(1);
  return roots()[0]!;
}

test.each(Object.entries(ADAPTERS))("%s joins the trace of its client, down to the owner's span", async (_, begin) => {
  await using system = await startDesk();

  await begin(system, CLIENT);

  expect((await rootOf()).parentSpanContext).toMatchObject({ traceId: TRACE, spanId: SPAN, isRemote: true });
  expect(pathsOf(kept.spans)).toContain("invoke_agent Desk > execute_tool look_up > execute_tool look_up");
  expect(new Set(kept.spans.map((span) => span.spanContext().traceId))).toEqual(new Set([TRACE]));
});

const MCP = "/agents/:agent_id/mcp";
const ROUTES: Record<keyof typeof ADAPTERS, string> = {
  "a streamed query": "/agents/:agent_id/query-stream",
  "a chat completion": "/agents/:agent_id/v1/chat/completions",
  "a streamed chat completion": "/agents/:agent_id/v1/chat/completions",
  "a message of the AI SDK": "/agents/:agent_id/ui-stream",
  "a call of MCP in 2025": MCP,
  "a call of MCP in 2026": MCP,
  "a query of MCP": MCP,
  "the playground": "/api/agents/:agent_id/playground",
  "a test call": "/api/agents/:agent_id/functions/:function_name/test-calls",
  "a streamed test call": "/api/agents/:agent_id/functions/:function_name/test-calls-stream",
  "a repeated run": "/api/agents/:agent_id/runs/:run_id/reruns",
};

test.each(Object.entries(ADAPTERS))(
  "%s without a client's span begins a trace of its own, and the audit log has its route",
  async (name, begin) => {
    await using system = await startDesk();

    await begin(system, {});

    expect((await rootOf()).parentSpanContext).toBeUndefined();
    const { items } = await system.plane.admin.listAudit(system.agentId, { action: "run.started", limit: 1 });
    expect(items[0]?.detail).toMatchObject({ adapter: ROUTES[name] });
    expect(pathsOf(kept.spans)).toContain("invoke_agent Desk > execute_tool look_up > execute_tool look_up");
  },
);

test.each(["2025", "2026"] as const)(
  "a call of MCP in %s joins the span that its _meta names, and not that of its HTTP request",
  async (era) => {
    await using system = await startDesk();

    await byMcp(era, CLIENT)(system, OTHER);

    expect((await rootOf()).parentSpanContext).toMatchObject({ traceId: TRACE, spanId: SPAN });
  },
);

test("the answer at an adapter names the trace", async () => {
  await using system = await startDesk();
  const { agentId } = system;
  for (const [path, body] of [
    ["/v1/chat/completions", completion({})(system)],
    ["/ui-stream", chat],
  ] as const) {
    const response = await system.post(`/agents/${agentId}${path}`, body, CLIENT);
    await response.text();
    expect(response.headers.get("x-trace-id")).toBe(TRACE);
  }
});
