import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError, everyone, functionsFor, isService } from "../src/index.ts";

const base = {
  name: "refund_order",
  description: "Refunds an order.",
  input: z.object({ orderId: z.string() }),
  roles: ["support"],
  handler: () => null,
};

describe("a function", () => {
  test("is described with its defaults", () => {
    expect(defineFunction(base).manifest).toEqual({
      name: "refund_order",
      description: "Refunds an order.",
      inputSchema: { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] },
      roles: ["support"],
      conditional: false,
      effect: "write",
      idempotent: false,
      timeoutMs: 60_000,
    });
  });

  test("is described with what its owner says", () => {
    const options = { effect: "read", idempotent: true, timeoutMs: 5_000, roles: everyone } as const;

    expect(defineFunction({ ...base, ...options, authorize: () => true }).manifest).toMatchObject({
      ...options,
      conditional: true,
    });
  });

  test("keeps the roles it was defined with", () => {
    const roles = ["support", "support"];
    const definition = defineFunction({ ...base, roles });
    roles.push("customer");

    expect(definition.manifest.roles).toEqual(["support"]);
  });

  const mistakes: [string, object, RegExp][] = [
    ["a name with a space", { name: "refund order" }, /cannot be named "refund order"/],
    ["an empty name", { name: "" }, /cannot be named ""/],
    ["a name of 65 characters", { name: "x".repeat(65) }, /1 to 64/],
    ["no description", { description: "" }, /description is missing/],
    ["no roles", { roles: undefined }, /roles is missing.*roles: "everyone"/],
    ["no role in the list", { roles: [] }, /roles is empty, so nobody may call it/],
    ["a role that is no text", { roles: ["support", 7] }, /a role is a text of 1 to 200 characters; 7 is none/],
    ["an empty role", { roles: [""] }, /a role is a text/],
    ["everyone inside a list", { roles: ["everyone"] }, /would be a role of that name/],
    ["another word for everyone", { roles: "all" }, /roles is missing/],
    ["no input", { input: undefined }, /input must be a schema/],
    ["an output that is no schema", { output: "string" }, /output must be a schema/],
    [
      "a raw output that is no JSON Schema",
      { output: { type: "text" } },
      /output: this is not JSON Schema of draft 2020-12: at the root: "type" must/,
    ],
    ["no handler", { handler: undefined }, /handler must be a function/],
    ["an authorize that is no function", { authorize: true }, /authorize must be a function/],
    ["a time-out above the limit", { timeoutMs: 240_001 }, /from 1 to 240000; it is 240001/],
    ["a time-out of part of a millisecond", { timeoutMs: 0.5 }, /whole number/],
    ["an unknown effect", { effect: "delete" }, /one of "read", "write", "destructive"/],
    ["an idempotent that is no boolean", { idempotent: "yes" }, /idempotent must be true or false/],
    ["a misspelt member", { authorise: () => false }, /there is no member authorise/],
  ];

  test.each(mistakes)("%s is a mistake", (_, change, message) => {
    const define = () => defineFunction({ ...base, ...change });

    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });
});

describe("a service", () => {
  const refund = defineFunction(base);

  test("is described for the control plane", () => {
    const service = defineService({
      name: "desk",
      roles: ["support", "admin"],
      defaultRole: "support",
      instructions: "Be brief.",
      functions: [refund],
    });

    expect(service.manifest).toEqual({
      name: "desk",
      roles: ["support", "admin"],
      defaultRole: "support",
      instructions: "Be brief.",
      preparesContext: false,
      checksContext: false,
      namesSubject: false,
      functions: [refund.manifest],
    });
  });

  test("is told from other values", () => {
    expect(isService(defineService({ name: "desk", functions: [] }))).toBe(true);
    expect([undefined, null, {}, { manifest: {} }, () => {}].some(isService)).toBe(false);
  });

  const other = functionsFor(z.object({ id: z.string() })).defineFunction(base);
  const large = Array.from({ length: 20 }, (_, i) =>
    defineFunction({ ...base, name: `large_${i}`, description: "x".repeat(60_000) }),
  );
  const mistakes: [string, object, RegExp][] = [
    [
      "two functions of one name",
      { functions: [refund, defineFunction(base)] },
      /two functions are named "refund_order"/,
    ],
    [
      "a function's role that it does not have",
      { roles: ["suport"] },
      /"refund_order" names the role "support", which is not among suport/,
    ],
    [
      "a default role that it does not have",
      { roles: ["support"], defaultRole: "guest" },
      /defaultRole names the role "guest"/,
    ],
    ["an empty default role", { defaultRole: "" }, /defaultRole|a role is a text/],
    ["roles open to everyone", { roles: "everyone" }, /must be a list of all roles/],
    [
      "something that is no function",
      { functions: [refund, undefined] },
      /functions\[1\] is not what defineFunction returned/,
    ],
    ["a function made for another context", { functions: [other] }, /was made for another context/],
    ["no name", { name: "" }, /needs a name/],
    ["a name of 201 characters", { name: "x".repeat(201) }, /201 characters exceeds the limit of 200. Shorten it/],
    ["functions that are no list", { functions: { refund } }, /functions must be a list/],
    ["a misspelt member", { function: [] }, /there is no member function/],
    ["a subject that is no function", { subject: "customerId" }, /subject must be a function/],
    [
      "too many functions",
      { functions: Array(LIMITS.functionsPerService + 1).fill(refund) },
      /201 functions, at most 200/,
    ],
    ["more description than a frame carries", { functions: large }, /Shorten schemas and descriptions/],
  ];

  test.each(mistakes)("%s is a mistake", (_, change, message) => {
    const define = () => defineService({ name: "desk", functions: [refund], ...change });

    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });
});
