import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { functionTable } from "../src/dev/ready-block.ts";

const one = (name: string, more: object = {}) =>
  defineFunction({
    name,
    description: "Refunds an order.",
    input: z.object({ amount: z.number() }),
    roles: ["clerk"],
    handler: () => null,
    ...more,
  });
const tableOf = (...functions: ReturnType<typeof one>[]) =>
  functionTable(defineService({ name: "desk", roles: ["clerk", "manager"], functions }).manifest).split("\n");

test("the table of functions names who approves their calls", () => {
  const always = one("refund", { approval: { by: ["manager", "caller"] } });
  const some = one("credit", { approval: { by: ["manager"], when: () => true } });

  const [head, ...rows] = tableOf(one("list"), always, some);

  expect(head).toMatch(/^function +roles +effect +approval +arguments$/);
  expect(rows).toEqual([
    expect.stringMatching(/^list +clerk +write +amount$/),
    expect.stringMatching(/^refund +clerk +write +by manager, caller +amount$/),
    expect.stringMatching(/^credit +clerk +write +by manager \(some calls\) +amount$/),
  ]);
});

test("the table of functions has no column for approvals if none has one", () => {
  expect(tableOf(one("list"))[0]).toMatch(/^function +roles +effect +arguments$/);
});
