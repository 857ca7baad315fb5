import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "@patchbay/runtime";
import { renderEscalationReport } from "../src/report.ts";
import { runEscalationSuite } from "../src/suite.ts";
import { orderService } from "../../test-kit/test/order-service.ts";
import { largeService } from "./large-service.ts";
import { protectedService } from "./protected-service.ts";

test("a service of 50 functions and six roles has no findings", async () => {
  const report = await runEscalationSuite(largeService());

  expect(report.findings).toEqual([]);
  expect(report.notes).toEqual([]);
  expect(report.roles).toHaveLength(7);
  expect(report.attempts).toBeGreaterThan(10_000);
});

test("every attack runs as every role that it applies to, and no real handler runs", async () => {
  const ran: string[] = [];

  const report = await runEscalationSuite(orderService(ran));

  expect(report).toMatchObject({
    service: "orders",
    functions: 3,
    roles: ["customer", "manager", null],
    findings: [],
  });
  const untried = report.results
    .filter(({ attempts }) => attempts === 0)
    .map(({ role, attack }) => `${role}: ${attack}`);
  expect(untried.toSorted()).toEqual(
    [
      // A manager may call everything. A query without a role has no role to misspell or to pin a key to.
      ...[
        "forbidden calls",
        "instructions in earlier turns",
        "role in arguments",
        "role in contextJson",
        "role in the query",
      ].map((attack) => `manager: ${attack}`),
      ...[
        "client tokens",
        "client tokens of MCP",
        "key pinned to the role",
        "models of other roles",
        "roles of MCP",
        "roles of chat completions",
        "roles of chats",
        "similar role names",
      ].map((attack) => `null: ${attack}`),
    ].toSorted(),
  );
  expect(ran).toEqual([]);
});

test("a service whose roles include others has no findings, and its keys are tried with the roles that they do not include", async () => {
  const roles = { customer: {}, agent: {}, manager: { includes: ["agent"] }, director: { includes: ["manager"] } };

  const report = await runEscalationSuite(protectedService(roles), { context: { customerId: "bob" } });

  expect(report.findings).toEqual([]);
  const pinned = report.results.filter(({ attack }) => attack === "roles of chat completions");
  const attempts = Object.fromEntries(pinned.map(({ role, attempts: count }) => [role, count]));
  // Two forged tokens, and two keys for each role that the key may not state.
  expect(attempts).toEqual({ customer: 8, agent: 8, manager: 6, director: 4, null: 0 });
});

test("the report shows attacks by role, findings and notes", async () => {
  const clean = await runEscalationSuite(orderService());
  const finding = { role: "customer", attack: "forbidden calls", kind: "ran" as const, detail: "x ran" };
  const found = { ...clean, findings: [finding], notes: ["y: no call could be generated."] };

  expect(renderEscalationReport(clean)).toMatch(/^orders: 3 functions, \d+ attempts in \d+ ms, nothing found\.\n/);
  expect(renderEscalationReport(clean)).toMatch(/^ +customer +manager +no role$/m);
  expect(renderEscalationReport(found)).toContain("Found:\n  customer, forbidden calls: x ran");
  expect(renderEscalationReport(found)).toContain("Not tried:\n  y: no call could be generated.");
});

test("the notes name functions for which no call or result can be generated", async () => {
  const service = defineService({
    name: "odd",
    functions: [
      defineFunction({
        name: "strict_input",
        description: "Accepts one prime number.",
        input: z.object({ n: z.number().refine((n) => n === 7919) }),
        roles: ["a"],
        handler: () => 1,
      }),
      defineFunction({
        name: "strict_output",
        description: "Returns a word.",
        input: z.object({}),
        output: z.string().refine((word) => word === "abracadabra"),
        roles: ["a"],
        handler: () => "abracadabra",
      }),
    ],
  });

  const { notes, findings } = await runEscalationSuite(service);

  expect(findings).toEqual([]);
  expect(notes.toSorted()).toEqual([
    expect.stringMatching(
      /^strict_input: its schemas accept no call that the suite can generate. Declare a case for it\.$/,
    ),
    "strict_output: its output schema accepts no result that the suite can generate.",
  ]);
});

test("the notes name a function whose authorize refuses every tried call of a role without a case", async () => {
  const conditional = (name: string, cases?: Record<string, { input: { id: string }; roles: string[] }>) =>
    defineFunction({
      name,
      description: "Reads a booking.",
      input: z.object({ id: z.string() }),
      roles: ["agent", "customer"],
      authorize: ({ role, input }) => role === "agent" || input.id === "B-1",
      ...(cases && { cases }),
      handler: () => 1,
    });
  const service = defineService({
    name: "airline",
    functions: [
      conditional("without_cases"),
      conditional("permitted", { own: { input: { id: "B-1" }, roles: ["customer"] } }),
      conditional("refused", { foreign: { input: { id: "B-2" }, roles: ["customer"] } }),
      conditional("other_role", { any: { input: { id: "B-2" }, roles: ["agent"] } }),
    ],
  });

  const { notes, findings } = await runEscalationSuite(service);

  expect(findings).toEqual([]);
  const untried = (name: string) =>
    `${name}: authorize refused each call as customer, so no attack reached its handler and its results. Declare a case that this role may call.`;
  expect(notes.toSorted()).toEqual([untried("other_role"), untried("without_cases")]);
});

test("a service that rejects an empty context needs a context", async () => {
  const service = defineService({
    name: "tenants",
    context: z.object({ tenant: z.string() }),
    functions: [defineFunction({ name: "f", description: "F.", input: z.object({}), roles: ["a"], handler: () => 1 })],
  });

  await expect(runEscalationSuite(service)).rejects.toThrow(/contextJson\.tenant/);
  expect((await runEscalationSuite(service, { context: { tenant: "t" } })).findings).toEqual([]);
});

test("a context that no header can hold is tried by the other attacks only", async () => {
  const large = defineFunction({
    name: "large",
    description: "Has a case with a large context.",
    input: z.object({}),
    roles: ["a"],
    cases: { all: { input: {}, context: { note: "x".repeat(9_000) }, roles: ["a"] } },
    handler: () => 1,
  });

  const { findings } = await runEscalationSuite(defineService({ name: "large", functions: [large] }));

  expect(findings).toEqual([]);
});
