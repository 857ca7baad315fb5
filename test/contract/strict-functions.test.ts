import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callThenAnswer, WIRES } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const strictFunction = (handler: (input: unknown) => void) =>
  defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.strictObject({
      id: z.string(),
      note: z.string().optional(),
      lines: z.array(z.strictObject({ sku: z.string(), count: z.number().optional() })).optional(),
    }),
    roles: ["support"],
    handler,
  });

/** The stand-in for Claude has an address of its own, as gateways do. */
const SENT = {
  anthropic: /^(?!.*"strict")/,
  gemini: '"mode":"VALIDATED"',
  "openai-chat": '"strict":true',
  "openai-responses": '"strict":true',
};

test.each(WIRES)("a call without its optional members is the same on the wire %s, strict or not", async (wire) => {
  const handled: unknown[] = [];
  const meant = { id: "7", lines: [{ sku: "a" }] };
  const written = wire.startsWith("openai") ? { id: "7", note: null, lines: [{ sku: "a", count: null }] } : meant;
  const service = defineService({ name: "desk", functions: [strictFunction((input) => void handled.push(input))] });
  const script = callThenAnswer([{ name: "refund", arguments: written }]);
  await using system = await startContractSystem(script, { wire, connected: false });
  await system.connect(service);

  const answer = await system.query("Refund order 7.", { role: "support" });

  expect(handled).toEqual([meant]);
  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true, parameters: meant }] });
  const [first] = system.standIn.requests;
  expect(JSON.stringify(first!.body)).toMatch(SENT[wire]);
});
