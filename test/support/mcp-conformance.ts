import { defineFunction, defineService } from "@patchbay/functions";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { startSystem } from "./system.ts";

const ROLE = "tester";

/** A function with the name of a tool of the conformance suite, which calls it without arguments. */
const tool = (name: string, more: Partial<Parameters<typeof defineFunction>[0]> = {}) =>
  defineFunction({
    name,
    description: `The suite calls ${name}.`,
    input: z.object({}),
    roles: [ROLE],
    handler: () => "This is a simple text response for testing.",
    ...more,
  });

/** A function whose calls the caller confirms: clients are asked for that by elicitation. */
const confirmed = (name: string) =>
  tool(name, { effect: "destructive", approval: { by: ["caller"] }, handler: () => "Confirmed: state-ok." });

const fixture = () =>
  defineService({
    name: "conformance",
    functions: [
      tool("test_simple_text"),
      tool("test_logging_tool"),
      tool("test_error_handling", {
        handler: () => {
          throw new Error("The suite expects a failure.");
        },
      }),
      tool("test_tool_with_progress", {
        handler: async (_input, { progress }) => {
          // The suite wants three reports. Those before the endpoint follows the call are not sent.
          for (let done = 0; done <= 100; done += 5) {
            progress({ progress: done, total: 100 });
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          return "done";
        },
      }),
      confirmed("test_streaming_elicitation"),
      confirmed("test_input_required_result_elicitation"),
      confirmed("test_input_required_result_request_state"),
      confirmed("test_input_required_result_tampered_state"),
    ],
  });

/** Serves the functions of the suite on a loopback port, through a proxy that adds the key, which the suite cannot send. */
export async function startConformanceServer() {
  const system = await startSystem({ service: fixture() });
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: [ROLE], can: ["approve"] });
  const { hostname, port } = new URL(system.url);
  const proxy = createServer((incoming, response) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${apiKey}` };
    const path = `/agents/${system.agentId}/mcp`;
    const outgoing = request({ hostname, port, path, method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      await system[Symbol.asyncDispose]();
    },
  };
}
