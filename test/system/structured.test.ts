import { defineFunction, defineService } from "@patchbay/functions";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { z } from "zod";
import { startStandIn, WIRES, type Script, type Wire } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const schema: JsonObject = {
  type: "object",
  properties: { count: { type: "integer", minimum: 1 }, names: { type: "array", items: { type: "string" } } },
  required: ["count"],
  additionalProperties: false,
};

async function startWithService(wire: Wire, script: Script) {
  const ran: string[] = [];
  const list = defineFunction({
    name: "list_orders",
    description: "Lists the orders.",
    input: z.object({}),
    roles: ["support"],
    handler: () => void ran.push("list_orders"),
  });
  const standIn = await startStandIn(wire, script);
  const system = await startSystem({
    service: defineService({ name: "desk", functions: [list] }),
    providers: standIn.config,
  });
  return {
    ran,
    standIn,
    system,
    ask: (text: string, more: object = {}) => system.query(text, { responseSchema: schema, role: "support", ...more }),
    refusals: () => standIn.requests.flatMap(({ refusal }) => refusal ?? []),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
    },
  };
}

const responds = (value: JsonValue) => ({ name: "respond", arguments: value });

test.each(WIRES)("a text, a call next to an invalid answer and a correction work on the wire %s", async (wire) => {
  const turns: Script = ({ query }, turn) => {
    if (query.endsWith("And now?")) return { text: "As before." };
    if (turn === 1) return { thoughts: ["Easy."], text: "There are two." };
    if (turn === 2) return { thoughts: ["A call, then."], calls: [{ name: "list_orders" }, responds({ count: 0 })] };
    return { text: "Right.", calls: [{ name: "list_orders" }, responds({ count: 2 })] };
  };
  await using desk = await startWithService(wire, turns);

  const first = await desk.ask("How many?");
  const second = await desk.system.query("And now?", { role: "support", threadId: first.threadId });

  expect(desk.refusals()).toEqual([]);
  expect(first).toMatchObject({ success: true, structured: { count: 2 } });
  expect(first.toolInteractions.map(({ toolName, code }) => [toolName, code])).toEqual([
    ["list_orders", "cancelled"],
    ["list_orders", "cancelled"],
  ]);
  expect(desk.ran).toEqual([]);
  expect(second).toMatchObject({ success: true, response: "As before." });
  expect(second).not.toHaveProperty("structured");
});

test.each(WIRES)(
  "a role without functions gets its answer, with names that a provider rejects, on the wire %s",
  async (wire) => {
    const named = { ...schema, properties: { año: { type: "integer" }, $top: { type: "integer" } }, required: ["año"] };
    const script: Script = () => {
      const [year = "", top = ""] = namesOf(desk.standIn.requests.at(-1)!.body);
      return { calls: [responds({ [year]: 1999, [top]: 5 })] };
    };
    await using desk = await startWithService(wire, script);

    const answer = await desk.ask("Which year?", { role: "guest", responseSchema: named });

    expect(desk.refusals()).toEqual([]);
    expect(answer).toMatchObject({ success: true, structured: { año: 1999, $top: 5 } });
    expect(desk.standIn.requests[0]?.summary.functions).toEqual(["respond"]);
  },
);

test.each(WIRES)("a cut answer and a refusal do not count as answers on the wire %s", async (wire) => {
  const script: Script = ({ query }) =>
    query.endsWith("Cut") ? { calls: [responds({ count: 2 })], stop: "length" } : { text: "No.", stop: "refused" };
  await using desk = await startWithService(wire, script);

  const cut = await desk.ask("Cut");
  const refused = await desk.ask("Refuse");

  expect(cut).toMatchObject({ success: false, code: "output_limit", response: "" });
  expect(refused).toMatchObject({ success: false, code: "model_refused", response: "" });
});

test.each(WIRES)("the declared functions do not change during a run on the wire %s", async (wire) => {
  const script: Script = ({ step }) => ({ calls: step === 0 ? [{ name: "list_orders" }] : [responds({ count: 1 })] });
  await using desk = await startWithService(wire, script);

  await desk.ask("How many?");
  await desk.ask("How many now?");

  const declared = desk.standIn.requests.map(({ body }) => JSON.stringify(body["tools"]));
  expect(declared).toHaveLength(4);
  expect(new Set(declared).size).toBe(1);
  expect(desk.standIn.requests[0]?.summary.functions).toEqual(["list_orders", "respond"]);
});

/** Property names of the one function that a request declares. */
function namesOf(body: unknown): string[] {
  if (Array.isArray(body)) return body.map(namesOf).find((names) => names.length > 0) ?? [];
  if (!isJsonObject(body)) return [];
  const { properties } = body;
  return isJsonObject(properties) ? Object.keys(properties) : namesOf(Object.values(body));
}
