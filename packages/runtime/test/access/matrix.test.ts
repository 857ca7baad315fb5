import { expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, renderMatrix, type FunctionRow } from "../../src/access/index.ts";
import { defineFunction, defineService } from "../../src/index.ts";
import { orderService, ran } from "./order-service.ts";

async function rowOf(name: string, service = orderService()): Promise<FunctionRow> {
  const { functions } = await accessMatrix(service);
  return functions.find((row) => row.name === name)!;
}

const probe = { name: "probe", description: "x", input: z.object({ id: z.string() }), handler: () => null };

test("the matrix has each function by name, and a column for each role and for none", async () => {
  const matrix = await accessMatrix(orderService({ roles: ["customer", "agent", "auditor"] }));

  expect(matrix).toMatchObject({ service: "desk", roles: ["none", "customer", "agent", "auditor"] });
  expect(matrix.functions.map(({ name }) => name)).toEqual(["cancel_order", "get_order_details", "list_products"]);
});

test("without a list of roles, the columns are the roles of functions", async () => {
  expect((await accessMatrix(orderService())).roles).toEqual(["none", "agent", "customer"]);
});

test("a role list allows or hides", async () => {
  expect((await rowOf("cancel_order")).cells).toEqual({
    none: { access: "hidden" },
    customer: { access: "hidden" },
    agent: { access: "allowed", hides: [] },
  });
  expect((await rowOf("list_products")).cells).toMatchObject({ none: { access: "allowed" } });
});

test("an authorize makes a cell conditional, with a verdict for every case", async () => {
  const { none, customer, agent } = (await rowOf("get_order_details")).cells;

  expect(none).toEqual({ access: "hidden" });
  expect(customer).toEqual({
    access: "conditional",
    hides: ["note"],
    cases: {
      ownOrder: { decision: "allowed", rule: "allowed" },
      foreignOrder: { decision: "denied", rule: "authorize", message: "This call is not permitted." },
    },
  });
  expect(agent).toMatchObject({
    hides: [],
    cases: { ownOrder: { decision: "allowed" }, foreignOrder: { decision: "allowed" } },
  });
});

test("computing the matrix runs no handler", async () => {
  ran.length = 0;
  await accessMatrix(orderService());

  expect(ran).toEqual([]);
});

test("an authorize that throws denies the call, and the matrix has a note", async () => {
  const breaks = defineFunction({
    ...probe,
    roles: ["agent"],
    authorize: () => Promise.reject(new Error("the database is away")),
    cases: { any: { input: { id: "1" } } },
  });
  const service = orderService({ more: [breaks] });

  expect((await rowOf("probe", service)).cells["agent"]).toMatchObject({
    cases: { any: { decision: "denied", rule: "authorize", note: "authorize threw Error: the database is away" } },
  });
  expect(renderMatrix(await accessMatrix(service))).toContain(
    "- agent, case any of probe: authorize threw Error: the database is away, so it is denied.",
  );
});

test("only true allows a case", async () => {
  const verdictOf = async (decision: unknown) => {
    const judged = defineFunction({
      ...probe,
      roles: ["agent"],
      authorize: () => decision as boolean,
      cases: { any: { input: { id: "1" } } },
    });
    return (await rowOf("probe", orderService({ more: [judged] }))).cells["agent"];
  };

  for (const decision of [1, "yes", {}, undefined, null, false])
    expect(await verdictOf(decision)).toMatchObject({ cases: { any: { decision: "denied", rule: "authorize" } } });
  expect(await verdictOf(true)).toMatchObject({ cases: { any: { decision: "allowed" } } });
});

test("a case is evaluated with its context, which must match the service's schema", async () => {
  const context = z.object({ tenant: z.string() });
  const judged = defineFunction({
    ...probe,
    roles: "everyone",
    authorize: () => true,
    cases: { fits: { input: { id: "1" }, context: { tenant: "t" } }, misfits: { input: { id: "1" } } },
  });
  const { cells } = await rowOf("probe", defineService({ name: "desk", context, functions: [judged] }));

  expect(cells["none"]).toMatchObject({
    cases: { fits: { decision: "allowed" }, misfits: { decision: "denied", rule: "context" } },
  });
});

test("a case with roles is only in their columns", async () => {
  const judged = defineFunction({
    ...probe,
    roles: "everyone",
    authorize: () => true,
    cases: { any: { input: { id: "1" } }, staff: { input: { id: "1" }, roles: ["agent"] } },
  });
  const { cells } = await rowOf("probe", orderService({ more: [judged] }));

  expect(Object.keys(cells).map((role) => [role, Object.keys((cells[role] as { cases: object }).cases)])).toEqual([
    ["none", ["any"]],
    ["agent", ["any", "staff"]],
    ["customer", ["any"]],
  ]);
});

test("arguments that an async schema refuses make the matrix fail", async () => {
  const input = z.object({ id: z.string().refine(async (id) => id !== "1", "is taken") });
  const judged = defineFunction({
    ...probe,
    input,
    roles: "everyone",
    authorize: () => true,
    cases: { any: { input: { id: "1" } } },
  });

  await expect(accessMatrix(orderService({ more: [judged] }))).rejects.toThrow(
    'Function "probe" does not accept its case "any": Invalid arguments: id: is taken',
  );
});

test("a role with the name of the column without a role is refused", async () => {
  await expect(accessMatrix(orderService({ cancelRoles: ["none"] }))).rejects.toThrow(
    /the name of the column without a role/,
  );
});

test("roles with inherited names have columns", async () => {
  const matrix = await accessMatrix(orderService({ cancelRoles: ["constructor", "agent"] }));

  expect(matrix.functions[0]!.cells["constructor"]).toEqual({ access: "allowed", hides: [] });
});

test("the table for a terminal", async () => {
  const unwatched = defineFunction({ ...probe, roles: ["agent"], authorize: () => true });

  expect(renderMatrix(await accessMatrix(orderService({ defaultRole: "customer", more: [unwatched] })))).toBe(
    `
function             none     customer     agent
cancel_order         hidden   hidden       allowed
get_order_details    hidden   conditional  conditional
  case foreignOrder           denied       allowed
  case ownOrder               allowed      allowed
  member note                 removed      sees
list_products        allowed  allowed      allowed
probe                hidden   hidden       conditional

- A query without a role has the role customer. The column none is for unknown roles.
- Conditional, without cases: probe.`.trimStart(),
  );
});

test("the table in Markdown", async () => {
  expect(renderMatrix(await accessMatrix(orderService({ cancelRoles: ["a|b"] })), { format: "markdown" })).toBe(
    `
| function | none | agent | a\\|b | customer |
| --- | --- | --- | --- | --- |
| \`cancel_order\` | hidden | hidden | allowed | hidden |
| \`get_order_details\` | hidden | conditional | hidden | conditional |
| ↳ case foreignOrder |  | allowed |  | denied |
| ↳ case ownOrder |  | allowed |  | allowed |
| ↳ member note |  | sees |  | removed |
| \`list_products\` | allowed | allowed | allowed | allowed |`.trimStart(),
  );
});

test("a matrix of 50 functions and six roles is computed quickly", async () => {
  const roles = ["a", "b", "c", "d", "e", "f"];
  const functions = Array.from({ length: 50 }, (_, i) =>
    defineFunction({
      ...probe,
      name: `f${i}`,
      roles,
      authorize: ({ role }) => role === "a",
      cases: Object.fromEntries(["1", "2", "3", "4"].map((id) => [id, { input: { id } }])),
    }),
  );
  const began = process.cpuUsage();
  const matrix = await accessMatrix(defineService({ name: "large", functions }));

  expect(matrix.functions).toHaveLength(50);
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(2000);
});
