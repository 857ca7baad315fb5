import { expect, test } from "vitest";
import { z } from "zod";
import { findUnrefused, lockOf } from "../../src/access/index.ts";
import { defineFunction, defineService, type FunctionOptions, type JsonObject } from "../../src/index.ts";

type Probe = Partial<FunctionOptions<z.ZodObject<{ id: z.ZodString }>, undefined, JsonObject>>;

const unrefused = async (more: Probe) => {
  const input = z.object({ id: z.string() });
  const base = { name: "probe", description: "x", input, roles: ["agent"], handler: () => 1 };
  const probe = defineFunction({ ...base, cases: { one: { input: { id: "1" } } }, ...more });
  return findUnrefused(await lockOf(defineService({ name: "desk", functions: [probe] })));
};

test("a case that needs an approval is not a refusal of authorize", async () => {
  const approval = { by: ["agent"], when: () => true };

  expect(await unrefused({ approval, authorize: () => true })).toEqual(["probe"]);
  expect(await unrefused({ approval, authorize: () => false })).toEqual([]);
});

test("a case that needs an approval shows what the condition of an approval decides", async () => {
  expect(await unrefused({ approval: { by: ["agent"], when: () => true } })).toEqual([]);
  expect(await unrefused({ approval: { by: ["agent"], when: () => false } })).toEqual(["probe"]);
});
