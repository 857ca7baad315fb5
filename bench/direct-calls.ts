import { signIn } from "./console-lists.ts";
import type { Generator } from "./generator.ts";
import { median } from "./jobs.ts";
import { type Deployed, ROLE } from "./patchbay.ts";
import { firstAnswer, loading } from "./round.ts";
import type { Asking } from "./system.ts";

const FUNCTION = "look_up_order";
const ARGUMENTS = { orderId: "#W100" };
const CONCURRENCY = 16;
const WARM_UP = 400;
const CALLS = 600;
const TURNS = 5;

/** CPU ms of a function call without a model: by `tools/call` of MCP, and by the console's test call. */
export interface DirectCalls {
  mcpMs: number;
  consoleMs: number;
}

/** Both in turn, so that other load of the machine affects them alike. */
export async function directCalls(
  target: Deployed,
  { provider, generator }: { provider: string; generator: Generator },
): Promise<DirectCalls> {
  await using system = await target.start({ provider });
  await firstAnswer(system);
  const { measuredRequests } = loading(system, generator);
  const host = `127.0.0.1:${system.ports[0]}`;
  const cookie = await signIn(`http://${host}`, target.console.link);
  // The name of the cookie contains the port.
  const requests = { mcp: toolsCall(target), console: testCall(target, { host, cookie }) };
  const figures: Record<keyof typeof requests, number[]> = { mcp: [], console: [] };
  const names = ["mcp", "console"] as const;
  for (const name of names) await measuredRequests(requests[name], CONCURRENCY, { count: WARM_UP });
  for (let turn = 0; turn < TURNS; turn++)
    for (const name of names)
      figures[name].push((await measuredRequests(requests[name], CONCURRENCY, { count: CALLS })).cpuPerQueryMs);
  return { mcpMs: median(figures.mcp), consoleMs: median(figures.console) };
}

function toolsCall({ console: { agentId }, apiKey }: Deployed): Pick<Asking, "requests" | "expect"> {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: FUNCTION, arguments: ARGUMENTS } };
  return {
    requests: [
      {
        path: `/agents/${agentId}/mcp`,
        headers: {
          "x-api-key": apiKey,
          "x-patchbay-role": ROLE,
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-11-25",
        },
        body: JSON.stringify(call),
      },
    ],
    expect: [{ text: '\\"status\\":\\"in transit\\"', times: 1 }],
  };
}

function testCall(
  { console: { agentId } }: Deployed,
  headers: { host: string; cookie: string },
): Pick<Asking, "requests" | "expect"> {
  return {
    requests: [
      {
        path: `/api/agents/${agentId}/functions/${FUNCTION}/test-calls`,
        headers: { ...headers, "sec-fetch-site": "same-origin" },
        body: JSON.stringify({ role: ROLE, arguments: ARGUMENTS }),
      },
    ],
    expect: [{ text: '"status":"in transit"', times: 1 }],
  };
}
