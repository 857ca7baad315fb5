import { readFileSync } from "node:fs";
import { defineFunction, defineService } from "@patchbay/functions";
import { runEscalationSuite } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the testing page contains the complete test file that runs", () => {
  const blocks = [...read("docs/guides/testing.md").matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);

  expect(blocks.at(-1)).toBe(read("examples/retail-desk/test/desk.test.ts"));
});

/** With a hook and an approval, so that every attack applies. */
const desk = defineService({
  name: "desk",
  functions: [
    defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({}),
      roles: ["support"],
      approval: { by: ["caller"] },
      handler: () => "refunded",
    }),
  ],
  beforeQuery: () => undefined,
});

test("the testing page explains every attack of the suite, in its order", async () => {
  const { results } = await runEscalationSuite(desk);
  const explained = [...read("docs/guides/testing.md").matchAll(/^\| ([a-z ]+) \| /gim)].map(([, name]) => name);

  const attacks = [...new Set(results.map(({ attack }) => attack))];

  expect(attacks).toContain("texts that a hook withholds");
  expect(explained.slice(explained.indexOf(attacks[0]))).toEqual(attacks);
});
