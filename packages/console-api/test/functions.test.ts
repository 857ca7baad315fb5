import { defineFunction, defineService } from "@patchbay/functions";
import type { AccessMatrix, Found, FunctionHistory, FunctionSet, TestCallResult } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

test("the functions of several services are shown together, each with its service", async () => {
  await using desk = await openDesk();
  const send = defineFunction({
    name: "send_mail",
    description: "Sends mail.",
    input: z.object({}),
    roles: ["clerk"],
    handler: async () => "sent",
  });
  await desk.connect(defineService({ name: "mail", functions: [send] }));
  const developer = await desk.member("developer");

  const set = await developer.json<FunctionSet>("GET", `${desk.agent}/functions`);
  const access = await developer.json<AccessMatrix>("GET", `${desk.agent}/access`);
  const found = await Promise.all(
    ["send_mai", "refun"].map((q) => developer.json<{ found: Found[] }>("GET", `/search?q=${q}`)),
  );

  expect(found.map((answer) => answer.found.map(({ kind, name }) => `${kind} ${name}`))).toEqual([
    ["function send_mail"],
    ["function refund"],
  ]);
  expect(set).toMatchObject({ service: "desk, mail", connected: true, roles: expect.arrayContaining(["clerk"]) });
  expect(set.functions.at(-1)).toMatchObject({ name: "send_mail", origin: { service: "mail" } });
  expect(access.functions.map(({ name }) => name)).toEqual(set.functions.map(({ name }) => name));
  expect(
    await developer.json("POST", `${desk.agent}/functions/send_mail/test-calls`, {
      body: { role: "clerk", arguments: {} },
    }),
  ).toMatchObject({ ok: true, value: "sent" });
});

test("developers read the arguments of reported cases, of several services too, and viewers do not", async () => {
  const withCase = (name: string) =>
    defineService({
      name: `service of ${name}`,
      functions: [
        defineFunction({
          name,
          description: "Gets an order.",
          input: z.object({ id: z.string() }),
          roles: ["clerk"],
          cases: { own: { input: { id: `secret of ${name}` } } },
          handler: async () => "got",
        }),
      ],
    });
  await using desk = await openDesk({ service: withCase("get_order"), reportCases: true });
  const [developer, viewer] = [await desk.member("developer"), await desk.member("viewer")];
  const cases = async (name: string) =>
    (await developer.json<{ cases: unknown }>("GET", `${desk.agent}/functions/${name}/cases`)).cases;
  const own = (name: string) => [{ name: "own", input: { id: `secret of ${name}` }, context: {} }];
  expect(await cases("get_order")).toEqual(own("get_order"));

  await desk.connect(withCase("get_user"), { reportCases: true });
  await desk.connect(withCase("get_shop"));
  expect(await cases("get_order")).toEqual(own("get_order"));
  expect(await cases("get_user")).toEqual(own("get_user"));
  expect(await cases("get_shop")).toEqual([]);
  expect((await developer.ask("GET", `${desk.agent}/functions/none/cases`)).status).toBe(404);

  expect((await viewer.ask("GET", `${desk.agent}/functions/get_order/cases`)).status).toBe(403);
  for (const path of ["functions", "function-sets", "access", "access/model-view", "access/changes"])
    expect(JSON.stringify(await viewer.json("GET", `${desk.agent}/${path}`))).not.toContain("secret of");
});

test("an agent's functions are shown with schemas and figures of their calls", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const attempt = (name: string, body: object) =>
    developer.json<TestCallResult>("POST", `${desk.agent}/functions/${name}/test-calls`, { body });
  await attempt("refund", { role: "manager", arguments: { amount: 500 } });
  await attempt("refund", { role: "agent", arguments: { amount: 500 } });
  await attempt("break_down", { arguments: {} });

  const set = await developer.json<FunctionSet>("GET", `${desk.agent}/functions`);

  expect(set).toMatchObject({
    service: "desk",
    instructions: "Be exact.",
    defaultRole: "customer",
    roles: ["manager", "agent", "customer"],
    connected: true,
  });
  const figures = new Map(set.functions.map((one) => [one.name, one.figures]));
  expect(figures.get("refund")).toMatchObject({ calls: 2, failed: 0, denied: 1, p50Ms: expect.any(Number) });
  expect(figures.get("break_down")).toMatchObject({ calls: 1, failed: 1, denied: 0, lastCalledAt: expect.any(String) });
  expect(figures.get("close_shop")).toEqual({
    calls: 0,
    failed: 0,
    denied: 0,
    p50Ms: null,
    p95Ms: null,
    lastCalledAt: null,
  });
  expect(set.functions[0]).toMatchObject({ name: "show_order", inputSchema: { type: "object" }, effect: "read" });
  const sets = await developer.json("GET", `${desk.agent}/function-sets`);
  expect(sets).toMatchObject({
    items: [{ manifestHash: set.manifestHash, connected: true, functions: [...figures.keys()] }],
    nextCursor: null,
  });
});

test("a function's history sums up to its figures", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const attempt = (role: string) =>
    developer.json("POST", `${desk.agent}/functions/refund/test-calls`, { body: { role, arguments: { amount: 500 } } });
  await attempt("manager");
  await attempt("agent");

  const history = await developer.json<FunctionHistory>("GET", `${desk.agent}/functions/refund/history`);

  const sum = (name: "succeeded" | "failed" | "denied") => history.buckets.reduce((all, one) => all + one[name], 0);
  expect([sum("succeeded"), sum("failed"), sum("denied")]).toEqual([1, 0, 1]);
  expect(history.buckets.length * history.bucketMs).toBeGreaterThanOrEqual(86_400_000);
  expect(history.buckets.filter(({ p95Ms }) => p95Ms !== null)).toHaveLength(1);
});

test("for an agent that was never connected the error explains how to connect functions", async () => {
  await using desk = await openDesk();
  const { agentId } = await desk.admin.createAgent("Buyer", { orgId: desk.orgId });
  const viewer = await desk.member("viewer");

  for (const path of ["functions", "access"]) {
    const response = await viewer.ask("GET", `/agents/${agentId}/${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ errorMessage: expect.stringContaining("Start a runtime") });
  }
  const unknown = await viewer.ask("GET", `${desk.agent}/functions?manifestHash=none`);
  expect(await failureOf(unknown)).toEqual([404, "not_found"]);
});

test("the access matrix has each role list once, and figures where a role called a function", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const attempt = (role: string, amount: number) =>
    developer.json("POST", `${desk.agent}/functions/refund/test-calls`, { body: { role, arguments: { amount } } });
  await attempt("agent", 5);
  await attempt("agent", 500);
  await attempt("customer", 5);

  const matrix = await developer.json<AccessMatrix>("GET", `${desk.agent}/access`);

  expect(matrix).toMatchObject({
    roles: [null, "manager", "agent", "customer"],
    defaultRole: "customer",
    connected: true,
  });
  const rows = new Map(matrix.functions.map((one) => [one.name, one]));
  expect(rows.get("show_order")).toMatchObject({ roles: "everyone", conditional: false, calls: [] });
  expect(rows.get("close_shop")).toMatchObject({ roles: [1], conditional: false });
  expect(rows.get("refund")).toMatchObject({ roles: [2, 1], conditional: true });
  expect(rows.get("refund")!.calls.toSorted((a, b) => a.role - b.role)).toEqual([
    { role: 2, calls: 1, denied: 1, lastAt: expect.any(String) },
    { role: 3, calls: 0, denied: 1, lastAt: expect.any(String) },
  ]);
  expect(matrix).toMatchObject({ rolesOmitted: 0, callsOmitted: false });
  expect(matrix.functions[0]).toMatchObject({ effect: "read", restrictedFields: ["cost"] });
});
