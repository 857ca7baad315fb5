import { readFileSync } from "node:fs";
import { runEscalationSuite } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import quickstart from "../../examples/quickstart/service.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the testing page contains the complete test file that runs", () => {
  const blocks = [...read("docs/guides/testing.md").matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);

  expect(blocks.at(-1)).toBe(read("examples/retail-desk/test/desk.test.ts"));
});

test("the testing page explains every attack of the suite, in its order", async () => {
  const { results } = await runEscalationSuite(quickstart);
  const explained = [...read("docs/guides/testing.md").matchAll(/^\| ([a-z ]+) \| /gim)].map(([, name]) => name);

  const attacks = [...new Set(results.map(({ attack }) => attack))];

  // The quickstart has no hooks and no approvals.
  const absent = ["texts that a hook withholds", "decisions in chats", "forged approvals", "decisions of others"];
  const made = explained.filter((name) => !absent.includes(name!));
  expect(made).not.toEqual(explained);
  expect(made.slice(made.indexOf(attacks[0]))).toEqual(attacks);
});
