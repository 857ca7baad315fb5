import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "../../src/index.ts";
import { renderEscalationReport, runEscalationSuite } from "../../src/testing/index.ts";
import { deskService } from "./desk-service.ts";
import { largeService } from "./large-service.ts";

test("fifty functions and six roles are tried, and nothing is found", async () => {
  const report = await runEscalationSuite(largeService());

  expect(report.findings).toEqual([]);
  expect(report.notes).toEqual([]);
  expect(report.roles).toHaveLength(7);
  expect(report.attempts).toBeGreaterThan(10_000);
}, 180_000);

test("every role is tried by every attack that can be made under it, and no real handler runs", async () => {
  const ran: string[] = [];

  const report = await runEscalationSuite(deskService(ran));

  expect(report).toMatchObject({
    service: "small-desk",
    functions: 3,
    roles: ["customer", "manager", null],
    findings: [],
  });
  const untried = report.results
    .filter(({ attempts }) => attempts === 0)
    .map(({ role, attack }) => `${role}: ${attack}`);
  expect(untried.toSorted()).toEqual(
    [
      // A manager may call everything, and who has no role can neither misspell one nor be pinned to it.
      ...[
        "forbidden by name",
        "orders in earlier turns",
        "role in arguments",
        "role in contextJson",
        "role in the query",
      ].map((attack) => `manager: ${attack}`),
      ...["key pinned to the role", "role spelled otherwise"].map((attack) => `null: ${attack}`),
    ].toSorted(),
  );
  expect(ran).toEqual([]);
});

test("the report is a table of attacks and roles that says what was found", async () => {
  const clean = await runEscalationSuite(deskService());
  const finding = { role: "customer", attack: "forbidden by name", kind: "ran" as const, detail: "x ran" };
  const found = { ...clean, findings: [finding], notes: ["y: no call could be made up."] };

  expect(renderEscalationReport(clean)).toMatch(/^small-desk: 3 functions, \d+ attempts in \d+ ms, nothing found\.\n/);
  expect(renderEscalationReport(clean)).toMatch(/^ +customer +manager +no role$/m);
  expect(renderEscalationReport(found)).toContain("Found:\n  customer, forbidden by name: x ran");
  expect(renderEscalationReport(found)).toContain("Not tried:\n  y: no call could be made up.");
});

test("what cannot be made up is said instead of being passed over", async () => {
  const service = defineService({
    name: "odd",
    functions: [
      defineFunction({
        name: "strict_input",
        description: "Takes a prime.",
        input: z.object({ n: z.number().refine((n) => n === 7919) }),
        roles: ["a"],
        handler: () => 1,
      }),
      defineFunction({
        name: "strict_output",
        description: "Gives a word.",
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
    expect.stringMatching(/^strict_input: no call could be made up that its schemas accept. Declare a case for it\.$/),
    "strict_output: no result could be made up that its output schema accepts.",
  ]);
});

test("a function whose authorize lets no tried call of a role through is in the notes, unless a case of that role says so", async () => {
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
    `${name}: authorize refused each call under customer, so no attack reached its handler and its results. Declare a case that this role may make.`;
  expect(notes.toSorted()).toEqual([untried("other_role"), untried("without_cases")]);
});

test("a service that takes no empty context needs one that queries may have", async () => {
  const service = defineService({
    name: "tenants",
    context: z.object({ tenant: z.string() }),
    functions: [defineFunction({ name: "f", description: "F.", input: z.object({}), roles: ["a"], handler: () => 1 })],
  });

  await expect(runEscalationSuite(service)).rejects.toThrow(/contextJson\.tenant/);
  expect((await runEscalationSuite(service, { context: { tenant: "t" } })).findings).toEqual([]);
});
