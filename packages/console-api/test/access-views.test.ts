import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { lockOf } from "@patchbay/functions/access";
import type {
  AccessComparison,
  AccessLocks,
  AccessMatrix,
  AccessReview,
  AuditItem,
  ModelView,
} from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { z } from "zod";
import { DESK, openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

const shop = ({ limit = 100, roles = ["agent"] } = {}) =>
  defineService({
    name: "shop",
    roles: ["agent", "manager", "lead"],
    functions: [
      defineFunction({
        name: "refund",
        description: "Refunds an amount.",
        input: z.object({ amount: z.number().describe("In euros.") }),
        roles: [...roles, "lead"],
        authorize: ({ input }) => input.amount <= limit,
        cases: { small: { input: { amount: 5 } }, large: { input: { amount: 500 } } },
        handler: async ({ amount }) => amount,
      }),
      defineFunction({
        name: "old_refund",
        description: "Refunds everything.",
        input: z.object({}),
        roles: everyone,
        deprecated: "Use refund.",
        handler: async () => "done",
      }),
    ],
  });

const mail = () =>
  defineService({
    name: "mail",
    functions: [
      defineFunction({
        name: "send",
        description: "Sends.",
        input: z.object({}),
        roles: everyone,
        handler: async () => "sent",
      }),
    ],
  });

test("the matrix has the verdict of each case for the roles that may call the function", async () => {
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");

  const { roles, functions, casesOmitted } = await viewer.json<AccessMatrix>("GET", `${desk.agent}/access`);

  const [agent, lead] = [roles.indexOf("agent"), roles.indexOf("lead")];
  expect(functions.find(({ name }) => name === "refund")?.cases).toEqual([
    { name: "small", allowed: [agent, lead], approval: [], denied: [] },
    { name: "large", allowed: [], approval: [], denied: [agent, lead] },
  ]);
  expect(casesOmitted).toBe(0);
});

test("the matrix, the model view and comparisons say which calls need whose approval", async () => {
  const [refund] = shop().manifest.functions;
  const rule = { by: ["manager", "lead"], edit: [], fourEyes: true, expiresInMs: 60_000 };
  const approved = [
    { ...refund!, name: "close", conditional: false, approval: { ...rule, conditional: false } },
    { ...refund!, name: "repay", approval: { ...rule, conditional: true } },
  ];
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");
  const { manifestHash: base } = await viewer.json<AccessMatrix>("GET", `${desk.agent}/access`);
  const manifest = { ...shop().manifest, functions: [...shop().manifest.functions, ...approved] };
  await desk.store.runtimes.saveManifest(desk.agentId, "approved", manifest);
  const ask = <T>(path: string) => viewer.json<T>("GET", `${desk.agent}/access${path}`);

  const { functions } = await ask<AccessMatrix>("?manifestHash=approved");
  const view = await ask<ModelView>("/model-view?manifestHash=approved&role=agent");
  const { changes } = await ask<AccessComparison>(`/changes?manifestHash=approved&base=${base}`);

  const close = { by: ["manager", "lead"], conditional: false };
  const repay = { by: ["manager", "lead"], conditional: true };
  for (const listed of [functions, view.functions])
    expect(Object.fromEntries(listed.map(({ name, approval }) => [name, approval]))).toMatchObject({ close, repay });
  expect(functions.find(({ name }) => name === "refund")).not.toHaveProperty("approval");
  expect(changes.map(({ sentence }) => sentence)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^function close is new.*; calls need approval by manager, lead\.$/),
      expect.stringMatching(/^function repay is new.*; some calls need approval by manager, lead\.$/),
    ]),
  );
});

test("cases beyond the size of a response are counted", async () => {
  await using desk = await openDesk();
  const name = "a".repeat(1_000);
  const cases = Array.from({ length: 150 }, (_, i) => ({ name: `${name}${i}`, verdicts: {} }));
  const [one, ...others] = DESK.manifest.functions;
  const manifest = { ...DESK.manifest, functions: [{ ...one!, cases }, ...others] };
  await desk.store.runtimes.saveManifest(desk.agentId, "large", manifest);
  const viewer = await desk.member("viewer");

  const matrix = await viewer.json<AccessMatrix>("GET", `${desk.agent}/access?manifestHash=large`);

  const listed = matrix.functions[0]!.cases.length;
  expect(listed).toBeGreaterThan(100);
  expect(matrix.casesOmitted).toBe(150 - listed);
});

test("the model view of a role is what a model request of the role contains", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  const { runId } = await desk.query("Show order 7", { role: "agent" });

  const view = await viewer.json<ModelView>("GET", `${desk.agent}/access/model-view?role=agent`);
  const sent = await viewer.json<{ functions: unknown[]; tokens: { functions: number[] } }>(
    "GET",
    `${desk.agent}/runs/${runId}/turns/0/request`,
  );

  expect(view.functions.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))).toEqual(
    sent.functions,
  );
  expect(view.functions.map(({ tokens }) => tokens)).toEqual(sent.tokens.functions);
  expect(view).toMatchObject({ deprecated: [], hidden: 1 });
});

test("a deprecated function is named outside the model view, and a role without functions sees none", async () => {
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");
  const seenBy = (role: string) => viewer.json<ModelView>("GET", `${desk.agent}/access/model-view?role=${role}`);

  expect(await seenBy("manager")).toMatchObject({ functions: [], deprecated: ["old_refund"], hidden: 1 });
  const { functions } = await seenBy("agent");
  expect(functions).toMatchObject([{ name: "refund", description: "Refunds an amount." }]);
  expect(JSON.stringify(functions[0]!.inputSchema)).toContain("In euros.");
});

test("a set is compared with the one before it of the same service, or with the one that the request names", async () => {
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");
  const changes = (query = "") => viewer.json<AccessComparison>("GET", `${desk.agent}/access/changes${query}`);
  const first = await changes();
  expect(first).toMatchObject({ base: null, changes: [] });

  await desk.connect(shop({ limit: 1_000, roles: ["agent", "manager"] }), { deployment: "v2" });

  const { manifestHash } = await viewer.json<AccessMatrix>("GET", `${desk.agent}/access`);
  expect(await changes(`?manifestHash=${manifestHash}`)).toEqual({
    manifestHash,
    base: first.manifestHash,
    changes: expect.arrayContaining([
      { kind: "widening", functionName: "refund", sentence: "manager gained refund, decided call by call." },
      { kind: "widening", functionName: "refund", sentence: "agent, lead gained case large of refund." },
    ]) as unknown,
    omitted: 0,
  });
  const back = await changes(`?manifestHash=${first.manifestHash}&base=${manifestHash}`);
  expect(back.changes.map(({ kind }) => kind)).not.toContain("widening");
  expect(await failureOf(await viewer.ask("GET", `${desk.agent}/access/changes?base=none`))).toEqual([
    404,
    "not_found",
  ]);
});

test("a set matches the lock of its service, and differs from the lock of another state", async () => {
  await using desk = await openDesk({ service: shop({ limit: 1_000 }) });
  const developer = await desk.member("developer");
  const compare = (lock: unknown) => developer.ask("POST", `${desk.agent}/access/lock-changes`, { body: { lock } });

  expect(await (await compare(await lockOf(shop({ limit: 1_000 })))).json()).toMatchObject({ changes: [], omitted: 0 });
  const stricter = (await (await compare(await lockOf(shop()))).json()) as AccessComparison;
  expect(stricter.changes).toMatchObject([{ kind: "widening", functionName: "refund" }]);

  const faultOf = async (lock: unknown) =>
    (await (await compare(lock)).json()) as { code: string; errorMessage: string };
  expect(await faultOf({ version: 4 })).toMatchObject({
    code: "invalid_request",
    errorMessage:
      "This file is not an access lock: its version is 4, not 1, 2 or 3. Choose the file that `patchbay access FILE --write` saved, or update Patchbay.",
  });
  expect((await faultOf({ name: "package" })).errorMessage).toContain("it has no version. Choose the file");
  const { errorMessage } = await faultOf({ version: 2, functions: { refund: { roles: { agent: "maybe" } } } });
  expect(errorMessage).toContain("functions.refund.roles.agent has a value that version 2 does not allow");
});

test("a viewer may not send a lock to compare", async () => {
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");

  const answer = await viewer.ask("POST", `${desk.agent}/access/lock-changes`, {
    body: { lock: await lockOf(shop()) },
  });

  expect(await failureOf(answer)).toEqual([403, "console_role_required"]);
});

test("each service is compared with the lock that its newest runtime reported", async () => {
  await using desk = await openDesk({ service: shop() });
  const viewer = await desk.member("viewer");
  const locks = async () => (await viewer.json<AccessLocks>("GET", `${desk.agent}/access/locks`)).locks;
  expect(await locks()).toEqual([]);

  const accessLock = await lockOf(shop({ limit: 10 }));
  await desk.connect(shop({ limit: 1_000 }), { deployment: "v2", accessLock });
  await desk.connect(mail(), { accessLock: { version: 4 } });
  await expect.poll(async () => (await locks()).length).toBe(2);

  const [ofMail, own] = await locks();
  expect(ofMail).toMatchObject({ service: "mail", comparison: null, fault: "its version is 4, not 1, 2 or 3" });
  expect(own).toMatchObject({
    service: "shop",
    fault: null,
    comparison: { changes: [{ kind: "widening", functionName: "refund" }] },
  });
});

test("a developer signs off the matrix that the page shows, and not one that was replaced", async () => {
  await using desk = await openDesk({ service: shop() });
  const [viewer, developer] = [await desk.member("viewer"), await desk.member("developer")];
  const review = () => viewer.json<AccessReview>("GET", `${desk.agent}/access/review`);
  const shown = async () => (await viewer.json<AccessMatrix>("GET", `${desk.agent}/access`)).manifestHash;
  const sign = (manifestHash: string, { ask } = developer) =>
    ask("POST", `${desk.agent}/access/reviews`, { body: { manifestHash, days: 30 } });
  const first = await shown();
  expect(await failureOf(await sign(first, viewer))).toEqual([403, "console_role_required"]);
  expect((await sign(first)).status).toBe(204);
  expect(await review()).toMatchObject({ signed: { by: "developer" }, changed: [], isDue: false });

  await desk.connect(mail());
  await expect.poll(shown).not.toBe(first);

  expect(await review()).toMatchObject({ sets: [{ service: "mail" }, { service: "shop" }], changed: ["mail"] });
  expect(await failureOf(await sign(first))).toEqual([409, "conflict"]);
  expect((await sign(await shown())).status).toBe(204);
  expect(await review()).toMatchObject({ changed: [] });
  const { items } = await viewer.json<{ items: AuditItem[] }>("GET", "/audit?action=access.signed");
  expect(items.map(({ sentence }) => sentence)).toEqual(Array(2).fill("developer signed off the access."));
});
