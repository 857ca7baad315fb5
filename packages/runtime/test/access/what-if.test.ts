import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { whatIf } from "../../src/access/index.ts";
import { defineFunction, defineService, everyone } from "../../src/index.ts";
import { type Caller, CALLS, lines, type Planted, ran, record, shop } from "./what-if-shop.ts";

test("the same set gives no difference over 1,500 calls, and no handler runs", async () => {
  const calls = await record(shop(), 100);
  ran.length = 0;

  const report = await whatIf(shop(), calls);

  expect(report).toEqual({
    service: "shop",
    calls: 1_500,
    unchanged: 1_500,
    changed: 0,
    drifted: 0,
    otherServices: 0,
    unjudged: 0,
    undecided: 0,
    otherDefaultRoles: [],
    changes: [],
    flows: [],
    unreplayed: 0,
  });
  expect(ran).toEqual([]);
});

const PLANTED: [what: string, planted: Planted, expected: string[]][] = [
  [
    "a role more",
    { readers: ["customer", "support", "intern"] },
    ["allow get_order intern denied (roles) → allowed 1"],
  ],
  ["a role less", { readers: ["support"] }, ["deny get_order customer allowed → denied (roles) 1"]],
  [
    "an operand that lets calls through",
    {
      mayRead: ({ role, input, context }) =>
        role === "support" || input.amount > 50 || input.orderId.startsWith(context.customer ?? "-"),
    },
    ["allow get_order customer denied (authorize) → allowed 1"],
  ],
  [
    "an authorize that is always true",
    { mayRead: () => true },
    ["allow get_order customer denied (authorize) → allowed 2"],
  ],
  [
    "an authorize that is always false",
    { mayRead: () => false },
    ["deny get_order customer allowed → denied (authorize) 1", "deny get_order support allowed → denied (authorize) 1"],
  ],
  [
    "an authorize that throws",
    {
      mayRead: () => {
        throw new Error("the database is away");
      },
    },
    ["deny get_order customer allowed → denied (authorize) 1", "deny get_order support allowed → denied (authorize) 1"],
  ],
  [
    "an asynchronous authorize",
    { mayRead: async () => true },
    ["allow get_order customer denied (authorize) → allowed 2"],
  ],
  [
    "a reason in place of true",
    { mayRead: () => "true" },
    ["deny get_order customer allowed → denied (authorize) 1", "deny get_order support allowed → denied (authorize) 1"],
  ],
  ["a locked order", { mayRefund: () => true }, ["allow refund_order support denied (authorize) → allowed 1"]],
  ["a higher bound", { most: 1_000 }, ["allow refund_order support denied (input) → approval 1"]],
  ["a lower bound", { most: 60 }, ["deny refund_order support approval → denied (input) 1"]],
  ["a higher limit of the approval", { asksAbove: 90 }, ["allow refund_order support approval → allowed 1"]],
  ["a lower limit of the approval", { asksAbove: 5 }, ["deny refund_order support allowed → approval 1"]],
  ["a destructive function for everyone", { wipers: everyone }, ["allow wipe_data none denied (roles) → allowed 1"]],
  ["a function without a caller", { hours: ["manager"] }, ["deny list_hours none allowed → denied (roles) 1"]],
  ["a function that is gone", { without: "list_hours" }, ["deny list_hours none allowed → denied (unknown) 1"]],
  ["a mark that names another role", { noteFor: ["support", "customer"] }, ["show get_order customer note 1"]],
  ["a mark within a member", { bonusFor: ["manager", "support"] }, ["show get_order support pay.bonus 1"]],
  ["a member more", { output: "ssn" }, ["show get_order customer ssn 1", "show get_order support ssn 1"]],
  ["an open result", { output: "open" }, ["show get_order customer $ 1", "show get_order support $ 1"]],
  ["no output schema", { output: "absent" }, ["show get_order customer $ 1", "show get_order support $ 1"]],
  ["members less", { output: "less" }, []],
  [
    "a context that must name a customer",
    { context: true },
    [
      "deny refund_order support allowed → denied (context) 1",
      "deny refund_order support approval → denied (context) 1",
    ],
  ],
];

test.for(PLANTED)("exactly the calls of a planted change are listed: %s", async ([, planted, expected]) => {
  const calls = await record(shop());
  ran.length = 0;

  const report = await whatIf(shop(planted), calls);

  expect(lines(report).toSorted()).toEqual(expected.toSorted());
  expect(report.unchanged + report.changed).toBe(CALLS.length);
  expect(ran).toEqual([]);
});

test("a change names its newest runs, and what it allows comes first", async () => {
  const calls = await record(shop(), 4);

  const { changes } = await whatIf(shop({ wipers: everyone, hours: ["manager"], noteFor: ["customer"] }), calls);

  expect(changes.map(({ kind }) => kind)).toEqual(["allow", "show", "deny"]);
  expect(changes[0]).toMatchObject({
    role: null,
    calls: 4,
    examples: [
      { runId: "run_12", callId: "call_12" },
      { runId: "run_27", callId: "call_27" },
      { runId: "run_42", callId: "call_42" },
    ],
  });
});

test("a record that the base judges differently today is drifted, and hides no real change", async () => {
  const calls = await record(shop());
  // Since the calls were made, the orders of ben belong to ada.
  const transferred = (caller: Caller): boolean => caller.role === "support" || caller.context.customer === "ada";
  const base = shop({ mayRead: transferred });
  const candidate = shop({ mayRead: transferred, wipers: everyone, output: "ssn" });

  const without = await whatIf(candidate, calls);
  const report = await whatIf(candidate, calls, { base });

  expect(lines(without)).toContain("allow get_order customer denied (authorize) → allowed 2");
  expect(report).toMatchObject({ drifted: 2, changed: 3, unchanged: CALLS.length - 5 });
  expect(lines(report)).toEqual([
    "allow wipe_data none denied (roles) → allowed 1",
    "show get_order customer ssn 1",
    "show get_order support ssn 1",
  ]);
  expect(await whatIf(base, calls, { base })).toMatchObject({ drifted: 2, changed: 0 });
});

test("a member that the base shows too is not a change, although the record lacks it", async () => {
  const calls = await record(shop());
  const base = shop({ output: "ssn" });

  expect(lines(await whatIf(shop({ output: "ssn" }), calls, { base }))).toEqual([]);
  expect(lines(await whatIf(shop({ output: "open" }), calls, { base }))).toContain("show get_order support $ 1");
});

test("a marked member counts only in results that had it", async () => {
  const calls = await record(shop());
  const bare = calls.map((one) => ({ ...one, redacted: one.redacted.filter((path) => path !== "note") }));

  expect(lines(await whatIf(shop({ noteFor: ["customer"] }), bare))).toEqual([]);
});

test("a call without a decision, or whose check takes longer than the function may, is not judged", async () => {
  const [first] = await record(shop());
  const slow = defineService({
    name: "shop",
    functions: [
      defineFunction({
        name: "get_order",
        description: "x",
        input: z.object({}),
        roles: ["customer"],
        timeoutMs: 1,
        authorize: () => new Promise<boolean>(() => {}),
        handler: () => null,
      }),
    ],
  });

  expect(await whatIf(shop(), [{ ...first!, decision: undefined }])).toMatchObject({ unjudged: 1, changes: [] });
  expect(await whatIf(slow, [first!])).toMatchObject({ unjudged: 0, undecided: 1, changes: [] });
  expect(await whatIf(shop(), [first!], { base: slow })).toMatchObject({ undecided: 1, changes: [] });
});

test("calls of other services of the agent are left out, and a name that none of them has is judged", async () => {
  const own = shop();
  const combined: Manifest = {
    ...own.manifest,
    name: "combined",
    functions: own.manifest.functions.map((one) => ({
      ...one,
      origin: { service: one.name === "wipe_data" ? "crm" : "shop", manifestHash: "x" },
    })),
  };
  const calls = (await record(own)).map((one) => ({ ...one, manifest: combined }));

  const report = await whatIf(shop({ wipers: everyone }), calls);
  const foreign = await whatIf(own, [{ ...calls[0]!, manifest: { ...own.manifest, name: "crm" } }]);

  expect(report).toMatchObject({ otherServices: 2, unchanged: CALLS.length - 2, changes: [] });
  expect(foreign).toMatchObject({ otherServices: 1 });
});

test("queries without a role are judged with the new default role, and earlier runs with the role that they had", async () => {
  const calls = await record(shop());
  const marked = calls.map((call) => (call.role === undefined ? { ...call, roleByDefault: true as const } : call));
  const manager = shop({ defaultRole: "manager" });

  expect(lines(await whatIf(manager, marked))).toEqual(["allow wipe_data none denied (roles) → allowed 1"]);
  expect(await whatIf(manager, calls)).toMatchObject({ changed: 0, otherDefaultRoles: [null] });
});

test.for<[string, Planted, string[]]>([
  [
    "another approver",
    { approvers: ["manager", "support"] },
    ["ask refund_order support approval by manager, not the sender → approval by manager, support, not the sender 1"],
  ],
  [
    "the sender itself",
    { fourEyes: false },
    ["ask refund_order support approval by manager, not the sender → approval by manager 1"],
  ],
  [
    "another role",
    { approvers: ["support"] },
    ["ask refund_order support approval by manager, not the sender → approval by support, not the sender 1"],
  ],
])("a call that others could approve is listed: %s", async ([, planted, expected]) => {
  const calls = await record(shop());
  expect(lines(await whatIf(shop(planted), calls))).toEqual(expected);
  expect(lines(await whatIf(shop(planted), calls, { base: shop(planted) }))).toEqual([]);
});

test("an approver less is a refusal", async () => {
  const calls = await record(shop({ approvers: ["manager", "support"] }));
  expect(lines(await whatIf(shop(), calls))).toEqual([
    "deny refund_order support approval by manager, support, not the sender → approval by manager, not the sender 1",
  ]);
});

test("a candidate's judgement is taken in place of the service's", async () => {
  const calls = (await record(shop())).map((call) => ({ ...call, judgement: { decision: "allowed" as const } }));
  const report = await whatIf(shop(), [...calls.slice(0, 2), { ...calls[2]!, judgement: {} }]);
  expect(report).toMatchObject({ calls: 3, unchanged: 1, changed: 1, undecided: 1 });
});

test("a call of a set that is not stored is judged, without its result", async () => {
  const calls = (await record(shop())).map((one) => ({ ...one, manifest: undefined }));
  expect(lines(await whatIf(shop({ output: "ssn", wipers: everyone }), calls))).toEqual([
    "allow wipe_data none denied (roles) → allowed 1",
  ]);
});
