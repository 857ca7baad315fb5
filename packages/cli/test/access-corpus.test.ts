import type { AccessChange } from "@patchbay/functions/access";
import { expect, test } from "vitest";
import { type Edit, inService } from "./access-corpus/edits.ts";
import { CODE, HARMLESS } from "./access-corpus/harmless.ts";
import { AUTHORIZE, WIDENINGS } from "./access-corpus/widenings.ts";
import type { Difference } from "@patchbay/access-lab/search/search";
import { linesOf, sampled } from "./access-corpus/lines.ts";

/** The differences that the check reports after each edit, without those that are narrowings. */
async function reported(edits: readonly Edit[]): Promise<{ name: string; changes: AccessChange[] }[]> {
  const found = await linesOf<{ changes?: AccessChange[]; error?: string }>("compare.ts", edits);
  return edits.map(({ name }, i) => {
    const { changes, error } = found[i]!;
    if (changes === undefined) throw new Error(`${name}: ${error}`);
    return { name, changes: changes.filter(({ kind }) => kind !== "narrowing" && kind !== "changed") };
  });
}

test("every planted widening fails the check", async () => {
  expect(WIDENINGS.length).toBeGreaterThanOrEqual(100);

  const found = await reported(sampled(WIDENINGS));

  expect(found.filter(({ changes }) => changes.length === 0).map(({ name }) => name)).toEqual([]);
});

test("a search finds a call for every widening of authorize that the schemas let through", async () => {
  const edits = sampled(AUTHORIZE);
  const found = await linesOf<Difference[]>("search.ts", edits);

  // The input schema refuses the amounts that these would allow.
  const bounded = ["no amount", "negative amounts", "a bound that is off by one", "larger refunds"];
  const names = edits.map(({ name }) => name);
  expect(names.filter((_, i) => found[i]!.length === 0)).toEqual(bounded.filter((name) => names.includes(name)));
});

test("a search finds no widening in a refactoring of code", async () => {
  const edits = sampled(CODE);
  const found = await linesOf<Difference[]>("search.ts", edits);

  expect(edits.filter((_, i) => found[i]!.length > 0).map(({ name }) => name)).toEqual([]);
});

test("no refactoring and no narrowing is called a widening", async () => {
  expect(HARMLESS.length).toBeGreaterThanOrEqual(100);

  const found = await reported(sampled(HARMLESS));

  const wrong = found.filter(({ changes }) => changes.some(({ kind }) => kind === "widening"));
  expect(wrong.map(({ name, changes }) => [name, changes[0]!.sentence])).toEqual([]);
  // A rewritten `authorize` is unproven, and hardly anything else.
  const unproven = found.filter(({ changes }) =>
    changes.some(({ about }) => about !== "authorize" && about !== "approval"),
  );
  const others = new Set(["another text of the hook", "another default", "code in the schema of the context"]);
  expect(unproven.map(({ name }) => name)).toEqual(found.map(({ name }) => name).filter((name) => others.has(name)));
});

test("a sentence names each edit of a bound, an output, an operand and an open object", async () => {
  const edits = [
    inService("bound", "positive().max(100)", "positive().max(1_000_000)"),
    inService("output", "amount: z.number(),\n    card", "amount: z.number(),\n    ssn: z.string(),\n    card"),
    inService("operand", "&& isWithin(input.amount);", "&& isWithin(input.amount) || input.amount > 50;"),
    inService("open", "output: z.object({ ok: z.boolean() })", "output: z.looseObject({ ok: z.boolean() })"),
  ];

  expect((await reported(edits)).map(({ changes }) => changes.map(({ sentence }) => sentence))).toEqual([
    ["boss, lead, staff may pass more to refund_order at amount: maximum 1000000 replaces 100 (such as 101)"],
    ['boss, lead, staff now see ssn of refund_order (such as "a")'],
    ["authorize of refund_order, or code that it uses, changed, and no case shows whether it allows more"],
    [
      'boss, staff now see more of update_address: properties that the schema does not list are new (such as {"other":"a"})',
    ],
  ]);
});
