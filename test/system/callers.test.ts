import { createHash } from "node:crypto";
import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { startIssuer } from "@patchbay/test-support/issuer";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

const who = defineFunction({
  name: "who",
  description: "Says who asks.",
  input: z.object({}),
  roles: "everyone",
  handler: (_input, { role, context }) => ({ role: role ?? null, context }),
});
const wipe = defineFunction({
  name: "wipe_all",
  description: "Deletes everything.",
  input: z.object({}),
  roles: ["manager"],
  handler: () => "wiped",
});
const service = defineService({ name: "desk", functions: [who, wipe] });

/** A system that trusts an issuer, with a model that asks who the caller is and tries to delete everything. */
async function start(options: SystemOptions = {}) {
  const issuer = await startIssuer();
  const standIn = await startStandIn("anthropic", callThenAnswer([{ name: "who" }, { name: "wipe_all" }]));
  const system = await startSystem({
    service,
    providers: standIn.config,
    callers: {
      issuer: issuer.url,
      audience: issuer.audience,
      roleClaim: "role",
      contextClaims: ["sub=userId", "tenant"],
    },
    ...options,
  });
  const { agentId } = system;
  const path = `/agents/${agentId}/query`;
  return {
    ...system,
    issuer,
    path,
    token: issuer.token,
    async asked(body: object, token: string, more: Record<string, string> = {}) {
      const response = await system.post(path, { query: "hi", ...body }, { "x-patchbay-caller": token, ...more });
      const answer = (await response.json()) as {
        code?: string;
        errorMessage?: string;
        details?: { path: string }[];
        toolInteractions?: { success: boolean; result?: unknown }[];
      };
      const [asker, wiped] = answer.toolInteractions ?? [];
      const { code, errorMessage, details } = answer;
      return { status: response.status, code, errorMessage, details, who: asker?.result, wiped: wiped?.success };
    },
    require: () => system.plane.admin.updateAgent(agentId, { settings: { callers: "required" } }),
    /** True if the model of the query is shown the text of an earlier one. */
    async isShown(text: string, { threadId, ...of }: { threadId: string; sub: string; tenant?: string }) {
      const header = { "x-patchbay-caller": await issuer.token({ role: "clerk", ...of }) };
      await system.query("And now?", { threadId }, header);
      return JSON.stringify(standIn.requests.at(-1)!.body).includes(text);
    },
    audited: async () =>
      (await system.plane.store.audit.list({ agentId, limit: 100 })).items.map(({ action, rule }) =>
        [action, rule].filter(Boolean).join(" "),
      ),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

test("a token gives a query its role and context, and the run its caller", async () => {
  await using system = await start();

  const answer = await system.asked({}, await system.token({ role: "manager", tenant: 7 }));

  const context = { userId: "ada", tenant: 7 };
  expect(answer).toMatchObject({ status: 200, who: { role: "manager", context }, wiped: true });
  const stated = { role: "manager", contextJson: JSON.stringify({ ...context, theme: "dark" }) };
  expect(await system.asked(stated, await system.token({ role: "manager", tenant: 7 }))).toMatchObject({
    who: { role: "manager", context: { ...context, theme: "dark" } },
  });
  const { items } = await system.plane.store.audit.list({ agentId: system.agentId, action: "run.started", limit: 1 });
  expect(items).toMatchObject([{ role: "manager", detail: { caller: "ada" } }]);
});

test("a token without a role proves none, whatever the query states", async () => {
  await using system = await start();
  expect(await system.asked({}, await system.token())).toMatchObject({ who: { role: null }, wiped: false });
  expect(await system.asked({ role: "manager" }, await system.token())).toMatchObject({
    status: 403,
    code: "role_not_allowed",
    errorMessage: expect.stringContaining("proves no role, not manager"),
  });
});

test("of several proven roles the query chooses one", async () => {
  await using system = await start();
  const token = await system.token({ role: ["clerk", "manager"] });
  expect(await system.asked({ role: "manager" }, token)).toMatchObject({ who: { role: "manager" }, wiped: true });
  expect(await system.asked({}, token)).toMatchObject({ status: 400, code: "invalid_request" });
  expect(await system.asked({ role: "admin" }, token)).toMatchObject({ status: 403 });
});

test("a query that contradicts its token is refused and audited, on every endpoint", async () => {
  await using system = await start();
  const token = await system.token({ role: "clerk" });
  const header = { "x-patchbay-caller": token };
  expect(await system.asked({ role: "manager" }, token)).toMatchObject({ status: 403, code: "role_not_allowed" });
  for (const context of [{ userId: "eve" }, { userId: null }, { userId: ["ada"] }, { tenant: 7 }]) {
    const answer = await system.asked({ contextJson: JSON.stringify(context) }, token);
    const path = `contextJson.${Object.keys(context)[0]}`;
    expect(answer).toMatchObject({ status: 400, code: "invalid_request", details: [{ path }] });
  }
  await expect(system.stream("hi", { role: "manager" }, header)).rejects.toThrow("status 403");
  const local = await fetch(`${system.url}/agent/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${system.accessToken}`, ...header },
    body: JSON.stringify({ query: "hi", context: { userId: "eve" } }),
  });
  expect(await local.json()).toMatchObject({ details: [{ path: "context.userId" }] });
  expect(new Set(await system.audited())).toContain("query.refused caller");
  expect(await system.audited()).not.toContain("run.started");
});

test("the local variant takes the role of the token in place of its default", async () => {
  await using system = await start();
  const stream = async (header: Record<string, string>) => {
    const response = await fetch(`${system.url}/agent/query-stream`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${system.accessToken}`, ...header },
      body: JSON.stringify({ query: "hi" }),
    });
    return await response.text();
  };
  expect(await stream({ "x-patchbay-caller": await system.token({ role: "clerk" }) })).toContain('"role":"clerk"');
  expect(await stream({})).toContain('"role":"user"');
});

test("a token never adds a role to a pinned key", async () => {
  await using system = await start();
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["clerk", "guest"] });
  const pinned = { "x-api-key": apiKey };
  const asked = async (role: unknown, body = {}) => system.asked(body, await system.token({ role }), pinned);

  expect(await asked("manager")).toMatchObject({ status: 403, code: "role_not_allowed" });
  expect(await asked("manager", { role: "clerk" })).toMatchObject({ status: 403 });
  expect(await asked(["manager", "clerk"], { role: "manager" })).toMatchObject({ status: 403 });
  expect(await asked(["manager", "clerk"])).toMatchObject({ who: { role: "clerk" }, wiped: false });
  expect(await asked("clerk", { role: "guest" })).toMatchObject({ status: 403 });
  expect(await system.audited()).toContain("caller.refused role_not_allowed");
});

test("a token opens no agent: the key of another one, and none, are refused first", async () => {
  await using system = await start();
  const other = await system.plane.admin.createAgent("Other", { orgId: system.orgId });
  const token = await system.token({ role: "manager" });
  expect(await system.asked({}, token, { "x-api-key": other.apiKey })).toMatchObject({
    status: 403,
    code: "agent_mismatch",
  });
  expect(await system.asked({}, token, { "x-api-key": token })).toMatchObject({ status: 401 });
});

test("two headers, an empty one and a token that is not valid are refused and audited", async () => {
  await using system = await start();
  const token = await system.token({ role: "clerk" });
  const twice = new Headers({ "content-type": "application/json", "x-api-key": system.apiKey });
  twice.append("x-patchbay-caller", token);
  twice.append("x-patchbay-caller", await system.token({ role: "manager" }));
  const body = JSON.stringify({ query: "hi" });
  expect((await fetch(system.url + system.path, { method: "POST", headers: twice, body })).status).toBe(401);
  expect(await system.asked({}, "")).toMatchObject({ status: 401 });
  expect(await system.asked({}, await system.token({ aud: "shop" }))).toMatchObject({
    status: 401,
    code: "authentication_failed",
    errorMessage: expect.stringContaining("it is not for the audience patchbay"),
  });
  expect((await system.audited()).filter((one) => one === "caller.refused caller_token")).toHaveLength(3);
});

test("an agent that requires callers takes no request with only a key", async () => {
  await using system = await start();
  const { runId } = await system.query("hi");
  await system.require();
  const paths = [`runs/${runId}`, `runs/${runId}/events`, "threads", "approvals"];
  const statuses = await Promise.all(paths.map((path) => system.get(`/agents/${system.agentId}/${path}`)));
  expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  await expect(system.query("hi")).rejects.toThrow("requires the token of the caller in X-Patchbay-Caller");
  await expect(system.local("hi")).rejects.toThrow("status 401");
  expect(await system.asked({}, await system.token({ role: "clerk" }))).toMatchObject({ who: { role: "clerk" } });

  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "optional" } });
  expect(await system.query("hi")).toMatchObject({ success: true });
});

test("without an issuer a token is refused, since its sender relies on it", async () => {
  await using issuer = await startIssuer();
  await using system = await startSystem({ service });
  const header = { "x-patchbay-caller": await issuer.token() };
  await expect(system.query("hi", {}, header)).rejects.toThrow("--caller-issuer");
});

test("a proven caller neither reads, joins nor continues what another caller began", async () => {
  await using system = await start();
  const of = async (sub: string) => ({ "x-patchbay-caller": await system.token({ sub, role: "clerk" }) });
  const key = { "idempotency-key": "k" };
  const first = await system.query("My PIN is 4711", {}, { ...(await of("ada")), ...key });
  const run = `/agents/${system.agentId}/runs/${first.runId}`;

  const read = async (sub: string) => (await system.get(run, await of(sub))).status;
  expect([await read("ada"), await read("eve")]).toEqual([200, 404]);
  expect((await system.get(`${run}/events`, await of("eve"))).status).toBe(404);
  expect((await system.post(`${run}/cancel`, {}, await of("eve"))).status).toBe(404);
  const joined = await system.post(system.path, { query: "My PIN is 4711" }, { ...(await of("eve")), ...key });
  expect(joined.status).toBe(422);

  const { threadId } = first;
  const isShown = (sub: string) => system.isShown("4711", { threadId, sub });
  expect(await isShown("ada")).toBe(true);
  await expect(isShown("eve")).rejects.toThrow("status 400");
});

test("callers that share the subject of a service do not find each other's threads", async () => {
  const context = z.looseObject({ tenant: z.string() });
  await using system = await start({
    service: defineService({ name: "desk", context, subject: ({ tenant }) => tenant, functions: [who, wipe] }),
  });
  const ada = await system.token({ role: "clerk", tenant: "shop-7" });
  const { threadId } = await system.query("My PIN is 4711", {}, { "x-patchbay-caller": ada });

  const isShown = (sub: string, tenant: string) => system.isShown("4711", { threadId, sub, tenant });
  expect(await isShown("ada", "shop-7")).toBe(true);
  await expect(isShown("eve", "shop-7")).rejects.toThrow("status 400");
  expect(await isShown("ada", "shop-8")).toBe(false);
});

test("the same key and body of one proven caller join, also with a new token", async () => {
  await using system = await start();
  const ask = async () =>
    (
      await system.query(
        "hi",
        {},
        {
          "x-patchbay-caller": await system.token({ role: "clerk", jti: createHash("sha256").digest("hex") }),
          "idempotency-key": "k",
        },
      )
    ).runId;
  expect(await ask()).toBe(await ask());
});
