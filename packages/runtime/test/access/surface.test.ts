import { describe, expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, compareAccess, lockOf, parseLock, renderMatrix, writeLock } from "../../src/access/index.ts";
import { defineFunction, defineService, visibleTo, type Schema } from "../../src/index.ts";

interface Desk {
  input?: Schema;
  output?: Schema;
  context?: Schema;
  subject?: (context: { userId?: string; tenant?: string }) => string | undefined;
  defaultRole?: string;
}

const order = z.object({ order: z.string(), amount: z.number().max(100) });

function desk({ input = order, output = z.object({ id: z.string() }), ...service }: Desk = {}) {
  const call = { order: "a", amount: 1 };
  return defineService({
    name: "desk",
    roles: ["staff", "boss", "auditor"],
    ...(service as object),
    functions: [
      defineFunction({
        name: "refund",
        description: "Refunds an order.",
        input: input as typeof order,
        output,
        roles: ["staff", "boss"],
        authorize: ({ role }) => role === "boss",
        cases: {
          own: { input: call, context: { userId: "ada", tenant: "x" } },
          foreign: { input: call, context: { userId: "ben", tenant: "x" } },
        },
        handler: () => ({ id: "a" }),
      }),
    ],
  });
}

async function changes(before: Desk, after: Desk): Promise<string[]> {
  const locked = parseLock(writeLock(await lockOf(desk(before))));
  return compareAccess(locked, await lockOf(desk(after))).map(({ kind, sentence }) => `${kind}: ${sentence}`);
}

const id = z.object({ id: z.string() });

describe("a widening of a schema is named with a value", () => {
  test.each<[string, Desk, Desk, string]>([
    [
      "a looser bound",
      {},
      { input: z.object({ order: z.string(), amount: z.number().max(1_000_000) }) },
      "boss, staff may pass more to refund at amount: maximum 1000000 replaces 100 (such as 101)",
    ],
    ["a new member", {}, { output: id.extend({ ssn: z.string() }) }, 'boss, staff now see ssn of refund (such as "a")'],
    [
      "an opened object",
      {},
      { output: z.looseObject({ id: z.string() }) },
      'boss, staff now see more of refund: properties that the schema does not list are new (such as {"other":"a"})',
    ],
    [
      "a context that may carry more",
      { context: z.object({ userId: z.string(), tenant: z.enum(["x"]) }) },
      { context: z.object({ userId: z.string(), tenant: z.enum(["x", "y"]) }) },
      'a query may carry more context at tenant: "y" is new',
    ],
    [
      "a subject that two callers share",
      { subject: ({ userId }) => userId },
      { subject: ({ tenant }) => tenant },
      "cases refund.foreign and refund.own have the same subject, so each sees earlier turns of the other",
    ],
    [
      "a removed subject",
      { subject: ({ userId }) => userId },
      {},
      "the service no longer names a subject, so earlier turns about one subject are shown in queries about another",
    ],
  ])("%s", async (_, before, after, sentence) => {
    expect(await changes(before, after)).toEqual([`widening: ${sentence}`]);
    expect((await changes(after, before)).filter((one) => one.startsWith("widening"))).toEqual([]);
  });
});

test("what a mark hides is compared as it is sent, also a mark within another one", async () => {
  const pay = (bonus: Schema) => z.object({ pay: visibleTo(z.object({ bonus: bonus as z.ZodNumber }), ["boss"]) });
  const [inner, outer] = [{ output: pay(visibleTo(z.number(), ["boss"])) }, { output: pay(z.number()) }];

  expect(await changes(inner, outer)).toEqual([]);
  expect(await changes(outer, inner)).toEqual([]);
  const open = { output: z.object({ pay: z.object({ bonus: z.number() }) }) };
  expect(await changes(inner, open)).toEqual(["widening: staff now sees pay of refund"]);
  const auditors = { output: pay(visibleTo(z.number(), ["auditor"])) };
  expect(renderMatrix(await accessMatrix(desk(auditors)))).toMatch(/member pay\.bonus +removed +removed$/m);
});

test("a mark that only one branch of a union loses is found", async () => {
  const branch = (kind: string, note: Schema) => z.object({ kind: z.literal(kind), note: note as z.ZodString });
  const hidden = () => visibleTo(z.string(), ["boss"]);
  const union = (a: Schema, b: Schema) => ({
    output: z.object({ item: z.discriminatedUnion("kind", [branch("a", a), branch("b", b)]) }),
  });

  expect(await changes(union(hidden(), hidden()), union(hidden(), z.string()))).toEqual([
    "widening: staff now sees item.note of refund",
  ]);
});

test("a change that gains one thing and loses another is reported as both", async () => {
  const input = z.object({ order: z.enum(["a", "b"]), amount: z.number().max(200) });

  expect(await changes({}, { input })).toEqual([
    "widening: boss, staff may pass more to refund at amount: maximum 200 replaces 100 (such as 101)",
    "narrowing: boss, staff may pass less to refund at order",
  ]);
});

test("a pattern that cannot be compared is unproven", async () => {
  const input = (pattern: RegExp) => z.object({ order: z.string().regex(pattern), amount: z.number() });
  const [change] = await changes({ input: input(/^[a-z]$/) }, { input: input(/^[^A-Z0-9]$/) });

  expect(change).toBe('unproven: the input of refund changed at order: pattern "^[^A-Z0-9]$" replaces "^[a-z]$"');
});

test("a default role that may do less is a narrowing", async () => {
  expect(await changes({ defaultRole: "boss" }, { defaultRole: "staff" })).toEqual([
    "narrowing: a query without a role has the role staff instead of boss, which may do less with refund",
  ]);
});

test("a lock of version 1 is compared by what it knows, and is unproven", async () => {
  const locked = parseLock(JSON.stringify({ version: 1, functions: { refund: { none: "hidden", boss: "allowed" } } }));
  const found = compareAccess(locked, await lockOf(desk())).map(({ kind, sentence }) => `${kind}: ${sentence}`);

  expect(found).toContain("widening: staff gained refund, decided call by call");
  expect(found[0]).toMatch(/^unproven: the lock has version 1/);
});
