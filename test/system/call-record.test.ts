import { defineFunction, defineService, everyone, type Schema } from "@patchbay/functions";
import type { QueryResponse, RunDetail } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { startStandIn, WIRES, type Script } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

test.each(WIRES)("the record of a call on the wire %s shows the input of its handler", async (wire) => {
  const got: unknown[] = [];
  const filter = { type: "object", properties: { scope: { type: "string", default: "own" } } };
  const input = { type: "object", properties: { filter, closed: { ...filter, additionalProperties: false } } };
  const define = (name: string, schema: Schema) =>
    defineFunction({
      name,
      description: "Posts.",
      input: schema,
      roles: everyone,
      handler: (given) => void got.push(given),
    });
  const service = defineService({
    name: "poster",
    functions: [define("post", input), define("strip", z.object({ id: z.string(), copies: z.int().default(1) }))],
  });
  const script: Script = ({ step }) => {
    if (step === 0) return { calls: [{ name: "post", arguments: { closed: { name: "John" } } }] };
    if (step > 1) return { text: "Done." };
    const open = { name: "post", arguments: { filter: { name: "John" } } };
    return { calls: [open, { name: "strip", arguments: { id: "1", admin: true } }] };
  };
  await using standIn = await startStandIn(wire, script);
  await using system = await startSystem({ service, providers: standIn.config });

  const { events } = await system.stream("Post it");
  const { events: local } = await system.local("Post it");

  const { runId, toolInteractions } = events.at(-1)!.data as unknown as QueryResponse;
  expect(toolInteractions).toMatchObject([
    { success: false, errorMessage: "Invalid arguments: closed.name: is not a property of the schema" },
    { parameters: got[0], success: true },
    { parameters: got[1], success: true },
  ]);
  const reached = [{ filter: { name: "John", scope: "own" } }, { id: "1", copies: 1 }];
  expect(got).toEqual([...reached, ...reached]);
  expect(events.flatMap(({ data }) => (data.type === "toolResult" ? [data.parameters] : []))).toEqual([
    undefined,
    ...reached,
  ]);
  const results = local.filter(({ data }) => data.type === "function_result");
  expect(results.map(({ data }) => data.data["arguments"])).toEqual([undefined, ...reached]);
  const stored = (await (await system.get(`/agents/${system.agentId}/runs/${runId}`)).json()) as RunDetail;
  expect(stored.result?.toolInteractions).toEqual(toolInteractions);
});
