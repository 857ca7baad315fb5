import type { AccessLock, LockedFunction } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { compareAccess, widenings } from "../src/index.ts";

const pay: LockedFunction = {
  roles: { staff: { access: "conditional", cases: {} } },
  parsing: { "default on": "false", "unlisted ": "refused", "unlisted items.*": "refused, refused" },
  texts: { description: "a1", openWorld: "false" },
};

const BEFORE: AccessLock = {
  version: 3,
  parsing: { "default grade": "1", "converts since": "date" },
  texts: { instructions: "b1" },
  code: { beforeAnswer: "c1", modelContext: "d1" },
  functions: { pay },
};

const changesTo = (after: Partial<AccessLock>, before = BEFORE) =>
  compareAccess(before, { ...BEFORE, ...after }).map(({ kind, sentence }) => `${kind}: ${sentence}`);

test("a default, a conversion and an open object in the context or in arguments are differences", () => {
  expect(changesTo({})).toEqual([]);
  expect(changesTo({ parsing: { "default grade": "6", "converts since": "date" } })).toEqual([
    "unproven: the context at grade: default 6 replaces 1, and no case shows whether more calls pass",
  ]);
  expect(changesTo({ parsing: { "default grade": "1", "converts grade": "number" } })).toEqual([
    "narrowing: the context at since: no value is converted",
    "widening: the context at grade: any value is converted",
  ]);
  const parsing = { "default on": "false", "unlisted items.*": "refused" };
  expect(changesTo({ functions: { pay: { ...pay, parsing } } })).toEqual([
    "widening: the input of pay: a member that the schema does not list passes",
    "widening: the input of pay at items.*: a member that the schema does not list passes",
  ]);
});

test("a default of a function that its role list decides gives no call a decision", () => {
  const allowed = (value: string): LockedFunction => ({
    roles: { staff: "allowed" },
    parsing: { "default on": value },
  });
  const [before, after] = ["false", "true"].map((value) => ({ ...BEFORE, functions: { pay: allowed(value) } }));

  expect(changesTo(after!, before)).toEqual(["changed: the input of pay at on: default true replaces false"]);
});

test("hooks and the model context are code, and texts are changes that widen nothing", () => {
  expect(changesTo({ code: { beforeAnswer: "c2", modelContext: "d1" } })).toEqual([
    "unproven: beforeAnswer, or code that it uses, changed, which the comparison cannot judge",
  ]);
  expect(changesTo({ code: { beforeAnswer: "c1" } })).toEqual([
    "widening: modelContext is gone, so the model receives the whole context",
  ]);
  expect(
    changesTo({ texts: {}, functions: { pay: { ...pay, texts: { description: "a2", openWorld: "true" } } } }),
  ).toEqual(
    ["instructions of the service", "description of pay", "openWorld of pay"].map((what) => `changed: ${what} changed`),
  );
});

test("code is equal by one of two fingerprints, and code that only refuses more is a narrowing", () => {
  const changed = (was: string, is: string | undefined, more: Partial<LockedFunction> = {}) => {
    const [before, after] = [was, is].map((authorize) => ({
      ...pay,
      code: authorize === undefined ? {} : { authorize },
    }));
    return changesTo({ functions: { pay: { ...after!, ...more } } }, { ...BEFORE, functions: { pay: before! } });
  };
  const unproven =
    "unproven: authorize of pay, or code that it uses, changed, and no case shows whether it allows more";
  const less = "narrowing: authorize of pay is code that lets no further call pass";

  expect(changed("t1", "t1 d1")).toEqual([]);
  expect(changed("t1 d1", "t2 d1")).toEqual([]);
  expect(changed("t1 d1", "t2")).toEqual([unproven]);
  expect(changed("t1 d1", "t2 d2")).toEqual([unproven]);
  expect(changed("t1 d1", undefined)).toEqual([unproven]);
  expect(changed("t1 d1", "t2 never")).toEqual([less]);
  expect(changed("t1 d1", "t2 always")).toEqual([unproven]);
});

test("a lock of version 2 is compared as far as it goes, and the rest is unproven only where it is known now", () => {
  const { parsing: _, texts: __, code: ___, ...older } = BEFORE;
  const { parsing: ____, texts: _____, ...function2 } = pay;
  const version2: AccessLock = { ...older, version: 2, functions: { pay: function2 } };

  expect(changesTo({}, version2)).toEqual([
    "unproven: the lock has version 2, which records no defaults, conversions, hooks and texts",
  ]);
  expect(compareAccess(version2, { ...older, functions: { pay: function2 } })).toEqual([]);
});

test("a changed description or default never holds a deployment", () => {
  const set = (description: string, value: boolean) => ({
    name: "desk",
    preparesContext: false,
    functions: [
      {
        name: "pay",
        description,
        inputSchema: { type: "object", properties: { on: { type: "boolean", default: value } } },
        roles: ["staff"],
        conditional: true,
        timeoutMs: 1_000,
        effect: "write" as const,
        idempotent: false,
      },
    ],
  });

  expect(widenings(set("Pays.", false), set("Pays at once.", true))).toEqual([]);
});
