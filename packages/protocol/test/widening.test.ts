import { describe, expect, test } from "vitest";
import { widenings, type FunctionManifest, type JsonObject, type Manifest } from "../src/index.ts";

const REFUND: FunctionManifest = {
  name: "refund_order",
  description: "Refunds an order.",
  inputSchema: {
    type: "object",
    properties: { orderId: { type: "string" }, amount: { type: "number", maximum: 100 } },
    required: ["orderId"],
  },
  roles: ["support", "admin"],
  conditional: true,
  effect: "write",
  idempotent: false,
  timeoutMs: 60_000,
  protectedMembers: ["cost"],
  redactions: [{ path: "orders[].cost", roles: ["admin"] }],
  outputSchema: { type: "object", properties: { refundId: { type: "string" } }, required: ["refundId"] },
};

const desk = (change: Partial<FunctionManifest> = {}, service: Partial<Manifest> = {}): Manifest => ({
  name: "desk",
  preparesContext: true,
  namesSubject: true,
  functions: [{ ...REFUND, ...change }],
  ...service,
});

const texts = (before: Manifest, after: Manifest): string[] => widenings(before, after).map(({ text }) => text);

describe("a widening", () => {
  const changes: [string, Partial<FunctionManifest>, string][] = [
    ["a role that is added", { roles: ["support", "admin", "guest"] }, 'role "guest" is added to the roles.'],
    ["two roles that are added", { roles: ["a", "admin", "b"] }, 'roles "a", "b" are added to the roles.'],
    ["everyone", { roles: "everyone" }, 'everyone may call it, before only roles "support", "admin".'],
    ["a removed authorize", { conditional: false }, "authorize no longer decides call by call."],
    [
      "a redaction that another role passes",
      { redactions: [{ path: "orders[].cost", roles: ["admin", "support"] }] },
      '"orders[].cost" of the result is no longer redacted for role "support".',
    ],
    [
      "a redaction that is removed",
      { redactions: [], protectedMembers: [] },
      '"orders[].cost" of the result is no longer redacted for role "support".',
    ],
    [
      "a redaction that an earlier runtime no longer describes",
      { redactions: undefined },
      '"orders[].cost" of the result is no longer redacted for role "support".',
    ],
    [
      "a removed output schema",
      { outputSchema: undefined },
      "the output schema is removed, so the whole result is sent.",
    ],
  ];

  test.each(changes)("%s is named", (_, change, sentence) => {
    expect(texts(desk(), desk(change))).toEqual([`refund_order: ${sentence}`]);
  });

  test("a new function is named with the roles that may call it", () => {
    const fresh = [REFUND, { ...REFUND, name: "wipe_data", roles: "everyone" as const }];

    expect(widenings(desk(), desk({}, { functions: fresh }))).toEqual([
      { kind: "function", functionName: "wipe_data", text: "wipe_data: the function is new and open to everyone." },
    ]);
  });

  test("a service that no longer names a subject is named", () => {
    for (const namesSubject of [false, undefined])
      expect(widenings(desk(), desk({}, { namesSubject }))).toMatchObject([{ kind: "subject" }]);
  });

  test.each(["beforeQuery", "beforeAnswer"] as const)("a service that no longer has %s is named", (hook) => {
    const before = desk({}, { [hook]: true });

    for (const after of [desk(), desk({}, { [hook]: false })])
      expect(widenings(before, after)).toEqual([
        { kind: "hook", text: expect.stringContaining(`The service no longer has a ${hook} hook`) },
      ]);
    expect(widenings(desk(), before)).toEqual([]);
    expect(widenings(before, before)).toEqual([]);
  });

  test("a protected member is compared by its name where the earlier runtime sends no places", () => {
    const before = desk({ redactions: undefined });

    expect(texts(before, desk({ protectedMembers: [] }))).toEqual([
      'refund_order: "cost" of the result is no longer redacted.',
    ]);
    expect(texts(before, desk())).toEqual([]);
  });

  test("every difference of a set is listed, and long lists are cut", () => {
    const roles = Array.from({ length: 9 }, (_, i) => `r${i}`);

    expect(texts(desk(), desk({ roles, conditional: false }, { namesSubject: false }))).toEqual([
      expect.stringContaining("no longer names a subject"),
      'refund_order: roles "r0", "r1", "r2", "r3", "r4" and 4 more are added to the roles.',
      "refund_order: authorize no longer decides call by call.",
    ]);
  });
});

describe("a default role", () => {
  const open: FunctionManifest = { ...REFUND, name: "open", roles: ["guest", "support"], conditional: false };
  const staff: FunctionManifest = { ...open, name: "staff", roles: ["support"], redactions: [] };
  const set = (defaultRole: string | undefined, functions = [open, staff]): Manifest =>
    desk({}, { functions, ...(defaultRole !== undefined && { defaultRole }) });

  test("widens when it may call more", () => {
    expect(texts(set("guest"), set("support"))).toEqual([
      'A query without a role now has the role "support" instead of "guest", which may do more with staff.',
    ]);
    expect(texts(set(undefined), set("guest"))).toEqual([
      'A query without a role now has the role "guest", which may do more with open.',
    ]);
  });

  test("that is weaker, removed or renamed without more rights widens nothing", () => {
    expect(texts(set("support"), set("guest"))).toEqual([]);
    expect(texts(set("support"), set(undefined))).toEqual([]);
    expect(texts(set("guest"), set("nobody"))).toEqual([]);
  });

  test("widens when it reads what was redacted, or when an authorize decides for it", () => {
    const marked = { ...open, redactions: [{ path: "cost", roles: ["guest"] }] };
    const decided = { ...open, conditional: true };

    expect(texts(set("support", [marked]), set("guest", [marked]))).toHaveLength(1);
    expect(texts(set("guest", [marked]), set("support", [marked]))).toEqual([]);
    expect(texts(set("support", [decided]), set("guest", [decided]))).toHaveLength(1);
  });
});

describe("no widening", () => {
  const changes: [string, Partial<FunctionManifest>][] = [
    ["the same set", {}],
    ["a reworded description", { description: "Gives the money back." }],
    ["a removed role", { roles: ["admin"] }],
    ["roles in another order", { roles: ["admin", "support"] }],
    ["a stricter redaction", { redactions: [{ path: "orders[].cost", roles: [] }] }],
    ["a redaction of the object around it", { redactions: [{ path: "orders", roles: ["admin"] }] }],
    ["one more redaction", { redactions: [...REFUND.redactions!, { path: "refundId", roles: ["admin"] }] }],
    ["another effect and timeout", { effect: "read", idempotent: true, timeoutMs: 1_000 }],
  ];

  test.each(changes)("%s widens nothing", (_, change) => {
    expect(texts(desk(), desk(change))).toEqual([]);
  });

  test("an added authorize, a removed function and an added subject widen nothing", () => {
    expect(texts(desk({ conditional: false }), desk())).toEqual([]);
    expect(texts(desk(), desk({}, { functions: [] }))).toEqual([]);
    expect(texts(desk({}, { namesSubject: false }), desk())).toEqual([]);
  });

  test("a new function that no role may call widens nothing", () => {
    expect(texts(desk({}, { functions: [] }), desk({ roles: [] }))).toEqual([]);
  });

  test("a removed mark widens nothing when only roles that saw the place may call", () => {
    expect(texts(desk({ roles: ["admin"] }), desk({ roles: ["admin"], redactions: [] }))).toEqual([]);
  });

  test("what two runtimes of an earlier version do not send is no widening", () => {
    const early = { protectedMembers: undefined, redactions: undefined, outputSchema: undefined };
    const before = desk(early, { namesSubject: undefined });

    expect(texts(before, before)).toEqual([]);
    expect(texts(before, desk())).toEqual([]);
    expect(texts(before, desk({ outputSchema: undefined }, { namesSubject: false }))).toEqual([]);
  });
});

describe("an input", () => {
  const input = (amount: JsonObject, required = ["orderId"]): Partial<FunctionManifest> => ({
    inputSchema: { type: "object", properties: { orderId: { type: "string" }, amount }, required },
  });

  test("that takes more is named with the place and the values", () => {
    expect(texts(desk(), desk(input({ type: "number", maximum: 500 })))).toEqual([
      'refund_order: the input is wider at "amount": maximum 500 replaces 100.',
    ]);
    expect(texts(desk(), desk(input({ type: "number", maximum: 100 }, [])))).toEqual([
      'refund_order: the input is wider at "orderId": it is no longer required.',
    ]);
  });

  test("with a narrower bound, one more required member or a description widens nothing", () => {
    expect(texts(desk(), desk(input({ type: "integer", exclusiveMaximum: 100, description: "In EUR" })))).toEqual([]);
    expect(texts(desk(), desk(input({ type: "number", maximum: 100 }, ["orderId", "amount"])))).toEqual([]);
  });

  test("with many wider places is cut", () => {
    const members = (type: string) =>
      Object.fromEntries(Array.from({ length: 13 }, (_, i): [string, JsonObject] => [`m${i}`, { type }]));
    const of = (type: string) => desk({ inputSchema: { type: "object", properties: members(type) } });

    const found = texts(of("integer"), of("number"));

    expect(found).toHaveLength(11);
    expect(found.at(-1)).toBe("refund_order: the input is wider in 3 other places.");
  });
});

describe("an output", () => {
  const output = (properties: JsonObject, more: JsonObject = {}): Partial<FunctionManifest> => ({
    outputSchema: { type: "object", properties, ...more },
  });

  test("with a new member or open members is named", () => {
    expect(texts(desk(), desk(output({ refundId: { type: "string" }, iban: { type: "string" } })))).toEqual([
      'refund_order: the output is wider at "iban": the member is new.',
    ]);
    expect(texts(desk(), desk(output({ refundId: { type: "string" } }, { additionalProperties: {} })))).toEqual([
      "refund_order: the output is wider: members that the schema does not list are new.",
    ]);
  });

  test("with a member that may be missing, or without one, widens nothing", () => {
    expect(texts(desk(), desk(output({ refundId: { type: "string" } })))).toEqual([]);
    expect(texts(desk(), desk(output({})))).toEqual([]);
  });
});
