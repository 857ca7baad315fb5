import type { JsonValue } from "@patchbay/kit";
import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { converse, type Handlers, takeTurn } from "./converse.ts";
import { assistant, crm } from "./other-services.ts";
import { retail } from "./retail-functions.ts";

const services = [retail, assistant, crm, [...retail, ...assistant, ...crm]];

/** Words of requests, values, punctuation and noise: what a query may be made of. */
const fragment = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(..."show cancel exchange list find create delete send add move convert reset what how is my the and then for to with of in because if not it its".split(" ")) },
  { weight: 3, arbitrary: fc.constantFrom(..."order orders item items user product contact deal event weather email note stage status zip payment method calendar details".split(" ")) },
  { weight: 3, arbitrary: fc.constantFrom("#W2378156", "#W1", "1151293680", "4711", "yusuf_rossi_9620", "credit_card_95", "a@b.co", "evt_abc123", "8b0f0a34-0d2a-4a67-9d6f-111111111111", "2026-05-04", "Yusuf Rossi", "Paris", "250 USD", "EUR", '"a title"', "12 * (3 + 4)", "ordered by mistake", "won", "19122", "Denver, CO, USA") },
  { weight: 1, arbitrary: fc.constantFrom(",", ".", ";", "?", "\n", "->", "'", '"', "(", ")", "{", "__proto__", "constructor", "\u0000") },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
); // prettier-ignore
const query = fc.oneof(
  fc.array(fragment, { maxLength: 16 }).map((parts) => parts.join(" ")),
  fc.string({ unit: "binary" }),
);

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<JsonValue>("user_1", { orders: ["#W1", "#W2"], user_id: "user_1" }, [{ id: 1, name: "Paris" }], {
    Shirt: "123456789",
  }),
) as fc.Arbitrary<JsonValue>;

const checks = new Map<ModelFunction, z.ZodType>();
const isValid = (fn: ModelFunction, input: JsonValue) => {
  const check = checks.get(fn) ?? z.fromJSONSchema(fn.inputSchema);
  checks.set(fn, check);
  return check.safeParse(input).success;
};

test("any query ends, with no call made twice and every call's arguments as its schema wants them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...services), query, value, async (functions, text, result) => {
      const handlers: Handlers = Object.fromEntries(functions.map(({ name }) => [name, () => result]));
      const { calls, answer } = await converse(functions, text, { handlers });

      const all = calls.flat();
      expect(new Set(all.map((call) => JSON.stringify(call))).size).toBe(all.length);
      expect(Math.max(0, ...calls.map((turn) => turn.length))).toBeLessThanOrEqual(8);
      for (const [name, input] of all) {
        const fn = functions.find((one) => one.name === name);
        expect(fn && isValid(fn, input), `${name} ${JSON.stringify(input)}`).toBe(true);
      }
      expect(answer).toContain("Answered by Patchbay's offline model");
    }),
    { numRuns: 400 },
  );
});

test("the same request gives the same turn", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...services), query, async (functions, text) => {
      const once = await takeTurn(functions, [{ role: "user", text }]);
      const again = await takeTurn(structuredClone(functions), [{ role: "user", text }]);

      expect(again).toEqual(once);
    }),
    { numRuns: 150 },
  );
});

test("a query without a verb that changes something changes nothing", async () => {
  const verbs =
    /\b(?:cancel|exchange|swap|replace|return|modify|change|update|reset|transfer|talk|speak|create|schedule|book|open|log|buy|delete|remove|send|email|mail|message|add|move|new)/iu;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...services), query, async (functions, text) => {
      fc.pre(!verbs.test(text));
      const { turn } = await takeTurn(functions, [{ role: "user", text }]);

      const effects = turn.calls.map((call) => functions.find((fn) => fn.name === call.name)?.effect);
      expect(effects.filter((effect) => effect !== "read")).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test("a long query is read in bounded time", async () => {
  for (const piece of ["(", "a@", "cancel order and ", "to to, ", '"', "A", "1", "#W1 and ", "because it is "]) {
    const before = process.cpuUsage();
    await takeTurn(retail, [{ role: "user", text: piece.repeat(Math.floor(100_000 / piece.length)) }]);
    expect(process.cpuUsage(before).user / 1000, piece).toBeLessThan(2000);
  }
});

test("a turn over fifty functions takes a few milliseconds of CPU", async () => {
  const functions = Array.from({ length: 50 }, (_, at) => {
    const { name, ...rest } = services[3]?.[at % 31] ?? { name: "none" };
    return { ...rest, name: at < 31 ? name : `${name}_${at}` } as ModelFunction;
  });
  const cpuMs: number[] = [];
  for (let round = 0; round < 40; round += 1) {
    const before = process.cpuUsage();
    await takeTurn(functions, [
      { role: "user", text: "What is the status of order #W2378156 of Yusuf Rossi, zip 19122?" },
    ]);
    cpuMs.push(process.cpuUsage(before).user / 1000);
  }
  // A quiet machine needs a fifth of that; shared caches make a busy one slower.
  expect(cpuMs.toSorted((a, b) => a - b)[20]).toBeLessThan(25);
});
