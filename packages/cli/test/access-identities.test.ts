import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineFunction, defineService } from "@patchbay/functions";
import { runEscalationSuite } from "@patchbay/functions/testing";
import { adoptCases } from "@patchbay/access-lab/search/adopt";
import { explore } from "@patchbay/access-lab/search/explore";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { expect, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "./support/command.ts";

interface Order {
  customer?: string;
}
interface Context {
  shop: string;
  customer?: string | undefined;
}
type Rule = (order: Order | undefined, context: Context) => boolean;

const ORDERS = new Map<string, Order>([
  ["W100", { customer: "ada" }],
  ["W101", { customer: "ben" }],
  ["W102", {}],
]);
const OWNER: Rule = (order, { customer }) => customer !== undefined && order?.customer === customer;

const CASES = {
  own: { input: { order: "W100" }, context: { shop: "s", customer: "ada" } },
  other: { input: { order: "W101" }, context: { shop: "s", customer: "ada" } },
  others: { input: { order: "W101" }, context: { shop: "s", customer: "ben" } },
  unowned: { input: { order: "W102" }, context: { shop: "s", customer: "ben" } },
};

/** A shop whose queries all have a context, which names the customer or not. */
const shop = (
  rule: Rule,
  more: Record<string, { input: { order: string }; context: Context }> = {},
  without: string[] = [],
) =>
  defineService({
    name: "shop",
    context: z.object({ shop: z.string(), customer: z.string().optional() }),
    subject: ({ customer }) => customer,
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets an order.",
        input: z.object({ order: z.string() }),
        roles: ["customer", "support"],
        authorize: ({ role, input, context }) =>
          role === "support" || rule(ORDERS.get(input.order), context as unknown as Context),
        cases: Object.fromEntries(Object.entries({ ...CASES, ...more }).filter(([name]) => !without.includes(name))),
        handler: () => ({}),
      }),
    ],
  });

const anonymousIn = async (service: ReturnType<typeof shop>) => (await exploredIn(service)).anonymous;

async function exploredIn(service: ReturnType<typeof shop>) {
  const facts = await factsOf(service, new Set());
  const options = { seed: 1, checks: 1_000, timeMs: 60_000 };
  const [found] = await explore({ facts, judge: judgeOf(service) }, options);
  return found!;
}

test("a rule that compares only defined owners permits no call without an identity", async () => {
  expect(await anonymousIn(shop(OWNER))).toEqual([]);
});

test("a call that a context without a subject may make is reported, although no context is empty", async () => {
  const equals: Rule = (order, { customer }) => order !== undefined && order.customer === customer;

  const [found, ...more] = await anonymousIn(shop(equals));

  expect(more).toEqual([]);
  expect(found).toEqual({ call: { input: { order: "W102" }, context: { shop: "s" } }, roles: ["customer"] });
  const declared = { unnamed: { input: { order: "W102" }, context: { shop: "s" } } };
  expect(await anonymousIn(shop(equals, declared))).toEqual([]);
});

test("a call with an id that no record has is reported apart, unless a case declares it", async () => {
  const unlessMissing: Rule = (order, context) => order === undefined || OWNER(order, context);
  const call = { input: { order: "W888" }, context: { shop: "s", customer: "ada" } };

  expect(await anonymousIn(shop(unlessMissing))).toContainEqual({ call, roles: ["customer"], kind: "unknown id" });
  const unknown = await anonymousIn(
    shop(unlessMissing, { missing: call, other2: { ...call, input: { order: "Z888" } } }),
  );
  expect(unknown.filter(({ kind }) => kind)).toEqual([]);
});

test("the attacks find calls of a context without a subject, and calls with unknown ids", async () => {
  const service = shop((order, { customer }) => order === undefined || order.customer === customer);

  const { findings } = await runEscalationSuite(service, { context: { shop: "s" } });

  expect(new Set(findings.map(({ role, detail }) => `${role}: ${detail}`))).toEqual(
    new Set([
      "customer: get_order is permitted with an id that no record has, and refused with another's",
      "customer: get_order is permitted without an identity, and refused with one",
    ]),
  );
});

test("a denied call is known to have no record if no allowed call has its id, and does not count as a case", async () => {
  const { unknownTo, untested } = await exploredIn(shop(OWNER));
  const call = (order: string) => ({ input: { order }, context: { shop: "s", customer: "ada" } });

  expect([unknownTo(call("W999")), unknownTo(call("W100")), unknownTo(call("W101"))]).toEqual([
    ["customer"],
    undefined,
    undefined,
  ]);
  expect(untested).toEqual([]);
  const only = (name: string) => exploredIn(shop(OWNER, { [name]: call("W999") }, ["other", "unowned"]));
  expect((await only("missing")).untested).toEqual([]);
  expect((await only("unknown1")).untested).toEqual([{ role: "customer", decision: "denied" }]);
});

test("--adopt names a case whose records do not exist, and the others", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "service.ts");
  await writeFile(file, `export default { name: "get_order", cases: { found1: { input: {} } }, handler() {} };`);
  const call = (order: string) => ({ input: { order }, context: {} });
  const cases = [{ call: call("W100") }, { call: call("W999"), unknownTo: ["customer"] }];

  const adopted = await adoptCases(
    cases.map((one) => ({ functionName: "get_order", ...one })),
    new Set([file]),
  );

  expect(adopted).toEqual({ files: [file], left: [], unknown: 1 });
  const text = await readFile(file, "utf8");
  expect(text).toContain('found2: { input: { order: "W100" } },');
  expect(text).toContain('unknown1: { input: { order: "W999" } },');
});
