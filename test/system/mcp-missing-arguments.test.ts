import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Era, mcpClient } from "@patchbay/test-support/mcp-client";
import { startSystem } from "@patchbay/test-support/system";

const ERAS = ["2025", "2026"] as const satisfies readonly Era[];
const ELICITS = { capabilities: { elicitation: { form: {} } } };

const shop = () =>
  defineService({
    name: "shop",
    functions: [
      defineFunction({
        name: "send",
        description: "Sends a parcel.",
        input: z.object({
          address: z.object({ city: z.string(), zip: z.string().optional() }),
          weight: z.number().describe("The weight in grams."),
          note: z.string().optional(),
        }),
        roles: "everyone",
        handler: (input) => input,
      }),
      defineFunction({
        name: "pack",
        description: "Packs things.",
        input: z.object({ things: z.array(z.object({ id: z.string() })), box: z.string() }),
        roles: "everyone",
        handler: () => null,
      }),
    ],
  });

const send = (input: object = {}) => ({ name: "send", arguments: { ...input } });
const FORMS = [
  [
    "send needs address.",
    {
      type: "object",
      properties: { city: { type: "string" }, zip: { type: "string" } },
      required: ["city"],
    },
  ],
  [
    "send needs weight: The weight in grams.",
    {
      type: "object",
      properties: { weight: { type: "number", description: "The weight in grams." } },
      required: ["weight"],
    },
  ],
];

test.each(ERAS)("the user of a client of %s is asked for the arguments that a call lacks", async (era) => {
  await using system = await startSystem({ service: shop() });
  await using client = await mcpClient(system, { era, client: ELICITS });
  const asked: unknown[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push([params.message, "requestedSchema" in params && params.requestedSchema]);
    const content = params.message.includes("weight") ? { weight: 5 } : { city: "Oslo", role: "manager" };
    return { action: "accept", content };
  });

  const sent = await client.callTool(send({ note: "Fragile" }));

  expect(asked).toEqual(FORMS);
  expect(JSON.parse((sent.content[0] as { text: string }).text)).toEqual({
    note: "Fragile",
    address: { city: "Oslo" },
    weight: 5,
  });
  expect(await client.callTool(send({ address: { city: "Rome" }, weight: 1 }))).not.toHaveProperty("isError", true);
  expect(asked).toHaveLength(2);
});

test.each(ERAS)("a call of %s whose user declines is refused for what it lacks", async (era) => {
  await using system = await startSystem({ service: shop() });
  await using client = await mcpClient(system, { era, client: ELICITS });
  client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));

  expect(await client.callTool(send())).toMatchObject({
    isError: true,
    _meta: { "patchbay/code": "invalid_arguments" },
    content: [{ text: expect.stringContaining("address") }],
  });
});

test.each(ERAS)("a user is not asked through a client of %s without forms, nor for what no form has", async (era) => {
  await using system = await startSystem({ service: shop() });
  await using plain = await mcpClient(system, { era });
  await using client = await mcpClient(system, { era, client: ELICITS });
  let asked = 0;
  client.setRequestHandler("elicitation/create", () => {
    asked++;
    return { action: "accept", content: { box: "small" } };
  });

  const refused = { isError: true, _meta: { "patchbay/code": "invalid_arguments" } };
  expect(await plain.callTool(send())).toMatchObject(refused);
  expect(await client.callTool({ name: "pack", arguments: {} })).toMatchObject(refused);
  expect(asked).toBe(0);
});

test("what a user gave in an earlier round counts, and other states are refused", async () => {
  await using system = await startSystem({ service: shop() });
  await using client = await mcpClient(system, { client: { ...ELICITS, inputRequired: { autoFulfill: false } } });
  const call = async (more: object = {}) => {
    const params = { ...send(), ...more };
    const result = await client.request({ method: "tools/call", params }, { allowInputRequired: true });
    return result as Record<string, unknown> & { inputRequests?: object };
  };
  const address = { action: "accept", content: { city: "Oslo" } };
  const weight = { action: "accept", content: { weight: 5 } };

  const first = await call();
  const second = await call({ requestState: first["requestState"], inputResponses: { address } });
  const sent = await call({ requestState: second["requestState"], inputResponses: { weight } });

  expect([first, second].map(({ inputRequests = {} }) => Object.keys(inputRequests))).toEqual([
    ["address", "weight"],
    ["weight"],
  ]);
  expect(sent).toMatchObject({ content: [{ text: '{"address":{"city":"Oslo"},"weight":5}' }] });
  for (const requestState of ["run_1", "given:x", `given:${Buffer.from("[]").toString("base64url")}`])
    await expect(call({ requestState })).rejects.toMatchObject({ code: -32602 });
});
