import { describe, expect, test } from "vitest";
import { accessSurface, compareAccess, widenings } from "../src/index.ts";
import { type FunctionManifest, type Manifest } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";

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
  restrictedFields: ["cost"],
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
    [
      "a role that is added",
      { roles: ["support", "admin", "guest"] },
      "guest gained refund_order, decided call by call.",
    ],
    ["two roles that are added", { roles: ["a", "admin", "b"] }, "a, b gained refund_order, decided call by call."],
    ["everyone", { roles: "everyone" }, "a query without a role gained refund_order, decided call by call."],
    [
      "a removed authorize",
      { conditional: false },
      "admin, support gained every call of refund_order: nothing decides call by call any more.",
    ],
    [
      "a redaction that another role passes",
      { redactions: [{ path: "orders[].cost", roles: ["admin", "support"] }] },
      "support now sees orders[].cost of refund_order.",
    ],
    [
      "a redaction that is removed",
      { redactions: [], restrictedFields: [] },
      "support now sees orders[].cost of refund_order.",
    ],
    [
      "a redaction that a runtime of an earlier version does not send",
      { redactions: undefined },
      "support now sees orders[].cost of refund_order.",
    ],
    ["a weaker effect", { effect: "read" }, "refund_order is declared read instead of write."],
    [
      "a call that may run twice",
      { idempotent: true },
      "a call of refund_order may run twice: it is declared idempotent.",
    ],
    [
      "a removed output schema",
      { outputSchema: undefined },
      "the output schema of refund_order is removed, so admin, support may see everything that its handler returns.",
    ],
  ];

  test.each(changes)("%s is reported", (_, change, sentence) => {
    expect(texts(desk(), desk(change))).toEqual([sentence]);
  });

  test("a new function is reported with its roles", () => {
    const fresh = [REFUND, { ...REFUND, name: "wipe_data", roles: "everyone" as const }];

    expect(widenings(desk(), desk({}, { functions: fresh }))).toEqual([
      {
        kind: "function",
        functionName: "wipe_data",
        text: "function wipe_data is new: open to everyone, decided call by call.",
      },
    ]);
  });

  test("a removed subject is reported", () => {
    for (const namesSubject of [false, undefined])
      expect(widenings(desk(), desk({}, { namesSubject }))).toMatchObject([{ kind: "subject" }]);
  });

  test.each(["beforeQuery", "beforeAnswer", "beforeCall"] as const)("a removed %s hook is reported", (hook) => {
    const before = desk({}, { [hook]: true });

    for (const after of [desk(), desk({}, { [hook]: false })])
      expect(widenings(before, after)).toEqual([{ kind: "hook", text: `hook ${hook} is gone.` }]);
    expect(widenings(desk(), before)).toEqual([]);
    expect(widenings(before, before)).toEqual([]);
  });

  test("every difference of a set is listed, and long lists are shortened", () => {
    const roles = Array.from({ length: 9 }, (_, i) => `r${i}`);

    expect(texts(desk(), desk({ roles, conditional: false }, { namesSubject: false }))).toEqual([
      expect.stringContaining("no longer names a subject"),
      "r0, r1, r2, r3, r4 and 4 more gained refund_order.",
    ]);
  });
});

describe("a default role", () => {
  const open: FunctionManifest = { ...REFUND, name: "open", roles: ["guest", "support"], conditional: false };
  const staff: FunctionManifest = { ...open, name: "staff", roles: ["support"], redactions: [] };
  const set = (defaultRole: string | undefined, functions = [open, staff]): Manifest =>
    desk({}, { functions, ...(defaultRole !== undefined && { defaultRole }) });

  test("is a widening if it may call more", () => {
    expect(texts(set("guest"), set("support"))).toEqual([
      "a query without a role has the role support instead of guest, which may do more with staff.",
    ]);
    expect(texts(set(undefined), set("guest"))).toEqual([
      "a query without a role has the role guest, which may do more with open.",
    ]);
  });

  test("that is weaker, removed or renamed without more rights is not a widening", () => {
    expect(texts(set("support"), set("guest"))).toEqual([]);
    expect(texts(set("support"), set(undefined))).toEqual([]);
    expect(texts(set("guest"), set("unlisted"))).toEqual([]);
  });

  test("is a widening if it reads redacted fields, or if an authorize decides for it", () => {
    const marked = { ...open, redactions: [{ path: "cost", roles: ["guest"] }] };
    const decided = { ...open, conditional: true };

    expect(texts(set("support", [marked]), set("guest", [marked]))).toHaveLength(1);
    expect(texts(set("guest", [marked]), set("support", [marked]))).toEqual([]);
    expect(texts(set("support", [decided]), set("guest", [decided]))).toHaveLength(1);
  });
});

describe("not a widening", () => {
  const changes: [string, Partial<FunctionManifest>][] = [
    ["the same set", {}],
    ["a reworded description", { description: "Gives the money back." }],
    ["a removed role", { roles: ["admin"] }],
    ["roles in another order", { roles: ["admin", "support"] }],
    ["a stricter redaction", { redactions: [{ path: "orders[].cost", roles: [] }] }],
    ["a redaction of the object around it", { redactions: [{ path: "orders", roles: ["admin"] }] }],
    ["one more redaction", { redactions: [...REFUND.redactions!, { path: "refundId", roles: ["admin"] }] }],
    ["a stronger effect and another timeout", { effect: "destructive", timeoutMs: 1_000 }],
  ];

  test.each(changes)("%s", (_, change) => {
    expect(texts(desk(), desk(change))).toEqual([]);
  });

  test("an added authorize, a removed function and an added subject", () => {
    expect(texts(desk({ conditional: false }), desk())).toEqual([]);
    expect(texts(desk(), desk({}, { functions: [] }))).toEqual([]);
    expect(texts(desk({}, { namesSubject: false }), desk())).toEqual([]);
  });

  test("a new function without roles", () => {
    expect(texts(desk({}, { functions: [] }), desk({ roles: [] }))).toEqual([]);
  });

  test("a removed mark, if only roles that saw the place may call the function", () => {
    expect(texts(desk({ roles: ["admin"] }), desk({ roles: ["admin"], redactions: [] }))).toEqual([]);
  });

  test("properties that two runtimes of an earlier version do not send", () => {
    const early = { restrictedFields: undefined, redactions: undefined, outputSchema: undefined };
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

  test("that accepts more is reported with the path and the values", () => {
    expect(texts(desk(), desk(input({ type: "number", maximum: 500 })))).toEqual([
      "admin, support may pass more to refund_order at amount: maximum 500 replaces 100 (such as 101).",
    ]);
    expect(texts(desk(), desk(input({ type: "number", maximum: 100 }, [])))).toEqual([
      'admin, support may pass more to refund_order at orderId: it is optional now (such as {"amount":99}).',
    ]);
  });

  test("with a narrower bound, one more required property or a description is not a widening", () => {
    expect(texts(desk(), desk(input({ type: "integer", exclusiveMaximum: 100, description: "In EUR" })))).toEqual([]);
    expect(texts(desk(), desk(input({ type: "number", maximum: 100 }, ["orderId", "amount"])))).toEqual([]);
  });

  test("with many wider places is shortened", () => {
    const members = (type: string) =>
      Object.fromEntries(Array.from({ length: 13 }, (_, i): [string, JsonObject] => [`m${i}`, { type }]));
    const of = (type: string) => desk({ inputSchema: { type: "object", properties: members(type) } });

    const found = texts(of("integer"), of("number"));

    expect(found).toHaveLength(11);
    expect(found.at(-1)).toBe("admin, support may pass more to refund_order: 3 more places differ.");
  });
});

describe("an output", () => {
  const output = (properties: JsonObject, more: JsonObject = {}): Partial<FunctionManifest> => ({
    outputSchema: { type: "object", properties, ...more },
  });

  test("with a new property or unlisted properties is reported", () => {
    expect(texts(desk(), desk(output({ refundId: { type: "string" }, iban: { type: "string" } })))).toEqual([
      'admin, support now see iban of refund_order (such as "a").',
    ]);
    expect(texts(desk(), desk(output({ refundId: { type: "string" } }, { additionalProperties: {} })))).toEqual([
      'admin, support now see more of refund_order: properties that the schema does not list are new (such as {"other":"a"}).',
    ]);
  });

  test("with an optional property, or without it, is not a widening", () => {
    expect(texts(desk(), desk(output({ refundId: { type: "string" } })))).toEqual([]);
    expect(texts(desk(), desk(output({})))).toEqual([]);
  });
});

describe("an approval", () => {
  const rule = { by: ["manager", "lead"], fourEyes: false, expiresInMs: 60_000 };
  const always = { conditional: false, approval: { ...rule, conditional: false } };
  const some = { conditional: false, approval: { ...rule, conditional: true } };
  const none = { conditional: false };
  const hidden = { roles: [] };

  test.each([
    ["of all calls, with a new function", hidden, always, "gained refund_order; calls need approval by manager, lead"],
    ["of some calls, with a new one", hidden, some, "gained refund_order; some calls need approval by manager, lead"],
    ["that is new", none, always, "calls of refund_order need approval by manager, lead"],
    ["that is new for some calls", none, some, "some calls of refund_order need approval by manager, lead"],
    ["of every call, no longer of some", some, always, "every call of refund_order needs approval by manager, lead"],
    ["of some calls, no longer of all", always, some, "only some calls of refund_order need approval by manager, lead"],
    ["that is gone", some, none, "calls of refund_order need no approval any more"],
  ] as const)("%s is one change, which says whose", (_what, before, after, expected) => {
    const surface = (change: object) => accessSurface(desk(change));
    const sentences = compareAccess(surface(before), surface(after)).map(({ sentence }) =>
      sentence.replace(/^admin, support /, ""),
    );

    expect(sentences.filter((sentence) => !/^role \w+ is new$/.test(sentence))).toEqual([expected]);
  });
});
