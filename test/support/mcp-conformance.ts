import { defineFunction, defineService } from "@patchbay/functions";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { startSystem } from "@patchbay/test-support/system";

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
const confirmed = (name: string, more: Parameters<typeof tool>[1] = {}) =>
  tool(name, { effect: "destructive", approval: { by: ["caller"] }, handler: () => "Confirmed: state-ok.", ...more });

/** A function whose arguments the client's user may change in the form that confirms a call. */
const editable = (name: string, properties: object) =>
  confirmed(name, {
    input: { type: "object", properties },
    approval: { by: ["caller"], edit: Object.keys(properties) },
  });

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const titled = (...titles: string[]) => titles.map((title, at) => ({ const: `value${at + 1}`, title }));
const options = ["option1", "option2", "option3"];

const CHOICES = {
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: options } },
  titledMulti: { type: "array", items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") } },
};

const fixture = (change: () => Promise<unknown>) =>
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
      // The new functions are connected before the call returns.
      tool("test_trigger_tool_change", {
        handler: async () => {
          await change();
          return null;
        },
      }),
      confirmed("test_elicitation", { input: z.object({ message: z.string() }) }),
      editable("test_elicitation_sep1034_defaults", DEFAULTS),
      editable("test_elicitation_sep1330_enums", CHOICES),
      confirmed("test_streaming_elicitation"),
      tool("test_input_required_result_elicitation", {
        input: z.object({ user_name: z.object({ name: z.string() }) }),
        handler: (input) => `Hello, ${(input as { user_name: { name: string } }).user_name.name}!`,
      }),
      confirmed("test_input_required_result_request_state"),
      // First its argument is asked for, then the call is confirmed.
      confirmed("test_input_required_result_multi_round", {
        input: z.object({ step1: z.object({ name: z.string() }) }),
      }),
      confirmed("test_input_required_result_tampered_state"),
    ],
  });

/** Serves the functions of the suite on a loopback port, through a proxy that adds the key, which the suite cannot send. */
export async function startConformanceServer() {
  let changes = 0;
  const change = (): Promise<unknown> =>
    system.connect(defineService({ name: "changing", functions: [tool(`added_${++changes}`)] }));
  const system = await startSystem({ service: fixture(change) });
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
