import type { CreatedAgent, CreatedCredential, RunTrace, TestCallResult } from "@patchbay/protocol/console";
import { CONSOLE_ROUTES, type ConsoleRoute } from "@patchbay/protocol/console";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { SECRETS } from "../src/repeats.ts";
import { openDesk } from "./support/console-desk.ts";
import { openNeighbours } from "./support/neighbours.ts";
import { openConsole } from "./support/open-console.ts";
import { openOffice } from "./support/office.ts";

const headers = { "Idempotency-Key": "deed-1" };
const posts = (Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][]).filter(([name]) => name.startsWith("POST "));

async function outcome(response: Promise<Response>): Promise<[number, Record<string, unknown>]> {
  const answered = await response;
  const text = await answered.text();
  return [answered.status, text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : { text }];
}

describe("a request that repeats its Idempotency-Key", () => {
  test("gets the first response, and changes nothing again", async () => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const view = { body: { name: "Late", shared: false, search: { q: "late" } }, headers };
    const post = () => outcome(developer.ask("POST", `${desk.agent}/views`, view));

    const first = await post();

    expect(first[0]).toBe(201);
    expect(await post()).toEqual(first);
    const { views } = await developer.json<{ views: unknown[] }>("GET", `${desk.agent}/views`);
    expect(views).toHaveLength(1);
  });

  test("at the same time runs once, and all get its response", async () => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    await desk.admin.setWebhook(desk.agentId, "https://desk.example");

    const all = await Promise.all(
      Array.from({ length: 5 }, () => outcome(developer.ask("POST", `${desk.agent}/webhook/test`, { headers }))),
    );

    for (const one of all) expect(one).toEqual([201, all[0]![1]]);
    expect((await desk.admin.listDeliveries(desk.agentId, { limit: 10 })).items).toHaveLength(1);
  });

  test.each([
    ["another body", (agent: string) => [`${agent}/views`, { name: "Other", shared: false, search: {} }] as const],
    ["another route", (agent: string) => [`${agent}/credentials`, { kind: "api" }] as const],
  ])("with %s is 422, and changes nothing", async (_what, other) => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const body = { name: "Late", shared: false, search: {} };
    await developer.json("POST", `${desk.agent}/views`, { body, headers });
    const [path, otherBody] = other(desk.agent);

    const [status, problem] = await outcome(developer.ask("POST", path, { body: otherBody, headers }));

    expect([status, problem["code"]]).toEqual([422, "idempotency_mismatch"]);
    expect((await developer.json<{ views: unknown[] }>("GET", `${desk.agent}/views`)).views).toHaveLength(1);
    expect(await desk.admin.credentials.list("api", desk.agentId)).toHaveLength(1);
  });

  test("is another request for another member, and after 24 hours", async () => {
    await using console = await openConsole();
    const { agentId } = await console.admin.createAgent("Desk", { orgId: console.orgId });
    const [ann, bob] = [
      await console.member("developer", { email: "ann@example.com" }),
      await console.member("developer", { email: "bob@example.com" }),
    ];
    const post = async ({ ask }: typeof ann) => {
      const body = { name: "Late", shared: true, search: {} };
      const response = await ask("POST", `/api/agents/${agentId}/views`, { body, headers });
      return ((await response.json()) as { viewId: string }).viewId;
    };

    const [first, again, others] = [await post(ann), await post(ann), await post(bob)];
    console.clock.advance(24 * 3_600_000);
    await ann.signIn(ann.email);
    const later = await post({ ...ann, ask: ann.browser.ask });

    expect(again).toBe(first);
    expect(new Set([first, others, later]).size).toBe(3);
  });

  test("is done after a refusal", async () => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const ask = () => outcome(developer.ask("POST", `${desk.agent}/webhook/test`, { headers }));
    expect((await ask())[0]).toBe(409);
    await desk.admin.setWebhook(desk.agentId, "https://desk.example");

    expect((await ask())[0]).toBe(201);
  });

  test("gets a conflict after a failure whose outcome is not known", async () => {
    let failing = true;
    await using console = await openConsole();
    const { agentId } = await console.admin.createAgent("Desk", { orgId: console.orgId });
    const developer = await console.member("developer");
    const { views } = console.store;
    const { add } = views;
    let added = 0;
    views.add = async (view) => {
      added++;
      const kept = await add(view);
      if (failing) throw new Error("The connection broke after the commit.");
      return kept;
    };
    const body = { name: "Late", shared: false, search: {} };
    const post = () => outcome(developer.ask("POST", `/api/agents/${agentId}/views`, { body, headers }));

    expect((await post())[0]).toBe(500);
    failing = false;

    expect(await post()).toMatchObject([
      409,
      { code: "conflict", errorMessage: expect.stringContaining("outcome is not known") as string },
    ]);
    expect(added).toBe(1);
  });

  test.each(["", "x".repeat(256)])("with a key of a wrong length is 400 (%#)", async (key) => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const asked = { body: { name: "Late", shared: false, search: {} }, headers: { "Idempotency-Key": key } };

    expect((await developer.ask("POST", `${desk.agent}/views`, asked)).status).toBe(400);
  });
});

describe("a secret that is shown once", () => {
  test("is not stored: a repetition gets a conflict with the id of what was made", async () => {
    await using desk = await openDesk();
    const owner = await desk.member("owner");
    const asked = { body: { kind: "runtime" }, headers };
    const path = `${desk.agent}/credentials`;

    const { credential } = await owner.json<CreatedCredential>("POST", path, asked);
    const [status, problem] = await outcome(owner.ask("POST", path, asked));

    const { credentialId } = credential;
    expect([status, problem["code"]]).toEqual([409, "conflict"]);
    expect(problem["details"]).toEqual([{ path: "credentialId", message: credentialId }]);
    expect(await desk.admin.credentials.list("runtime", desk.agentId)).toHaveLength(2);
  });

  test("is made once for concurrent requests of a program", async () => {
    await using office = await openOffice();
    const { ask } = await office.token("agents:write", "keys:write");

    const all = await Promise.all(
      Array.from({ length: 4 }, () => outcome(ask("POST", "/agents", { name: "Second" }, headers))),
    );

    expect(all.map(([status]) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409]);
    const made = all.find(([status]) => status === 201)![1] as unknown as CreatedAgent;
    const conflict = all.find(([status]) => status === 409)![1];
    expect(conflict["details"]).toEqual([{ path: "agentId", message: made.agent.agentId }]);
    expect(await office.admin.listAgents(office.orgId)).toHaveLength(2);
    const stored = await office.store.engine.db.selectFrom("request_keys").selectAll().execute();
    expect(stored).toHaveLength(1);
    expect(JSON.stringify(stored)).not.toContain(made.key.secret);
  });

  test("has a rule on each POST route", () => {
    const withSecret = posts.filter(([, { answer }]) => {
      if (typeof answer === "string") return false;
      const schema = JSON.stringify(z.toJSONSchema(answer, { unrepresentable: "any" }));
      return /"(secret|link)":/.test(schema);
    });
    expect(withSecret.map(([name]) => name).toSorted()).toEqual(Object.keys(SECRETS).toSorted());
  });
});

describe("a run", () => {
  test("is repeated once for an Idempotency-Key", async () => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const origins = [await desk.query("Show order 3"), await desk.query("Show order 4")];
    const [path, other] = origins.map(({ runId }) => `${desk.agent}/runs/${runId}/reruns`);

    const all = await Promise.all(Array.from({ length: 4 }, () => outcome(developer.ask("POST", path!, { headers }))));
    const [status, problem] = await outcome(developer.ask("POST", other!, { headers }));

    for (const one of all) expect(one).toEqual([201, all[0]![1]]);
    expect([status, problem["code"]]).toEqual([422, "idempotency_mismatch"]);
    expect((await developer.json<{ items: unknown[] }>("GET", `${desk.agent}/runs`)).items).toHaveLength(3);
    const trace = await developer.json<RunTrace>("GET", `${desk.agent}/runs/${origins[0]!.runId}`);
    expect(trace.reruns).toEqual([all[0]![1]["runId"]]);
  });

  test("of a test call is made once, streamed or not", async () => {
    await using desk = await openDesk();
    const developer = await desk.member("developer");
    const path = `${desk.agent}/functions/show_order/test-calls`;
    const asked = { body: { role: "manager", arguments: { id: 9 } }, headers };

    const first = await developer.json<TestCallResult>("POST", path, asked);
    const again = await developer.json<TestCallResult>("POST", path, asked);
    const streamed = await developer.ask("POST", `${path}-stream`, asked);
    await streamed.text();
    const other = await developer.ask("POST", path, { ...asked, body: { ...asked.body, arguments: { id: 8 } } });

    expect(again).toEqual(first);
    expect(streamed.headers.get("x-run-id")).toBe(first.runId);
    expect(other.status).toBe(422);
    expect((await developer.json<{ items: unknown[] }>("GET", `${desk.agent}/runs`)).items).toHaveLength(1);
  });
});

test("a repeated decision gets the approval as it is, and no copy of its arguments is stored", async () => {
  await using service = await openNeighbours();
  const { mine, plane, owner } = service;
  const finish = vi.spyOn(plane.store.requestKeys, "finish");
  const path = `${plane.url}/api/agents/${mine.agent_id}/approvals/${mine.approval_id}/decision`;
  const json = { ...owner, origin: plane.url, "content-type": "application/json" };
  const body = JSON.stringify({ approved: true, as: "manager" });
  const decide = (key = headers["Idempotency-Key"]) =>
    outcome(fetch(path, { method: "POST", headers: { ...json, "Idempotency-Key": key }, body }));

  const first = await decide();

  expect(first).toMatchObject([200, { approvalId: mine.approval_id, status: "approved" }]);
  expect(await decide()).toEqual(first);
  expect((await decide("deed-2"))[0]).toBe(409);
  expect(finish.mock.calls.map(([, stored]) => stored)).toEqual([{}]);
});

test("every POST route says what an Idempotency-Key does, in the OpenAPI document too", async () => {
  await using console = await openConsole();
  const document = await (await console.browser().ask("GET", "/api/openapi.json")).json();
  const { paths } = document as {
    paths: Record<string, { post?: { parameters?: { name: string }[]; responses: object } }>;
  };
  for (const [name, { idempotency }] of posts) {
    const post = paths[`/api${name.slice("POST ".length).replace(/:(\w+)/g, "{$1}")}`]?.post;
    const named = post?.parameters?.some((parameter) => parameter.name === "Idempotency-Key") === true;
    expect([name, named, "422" in post!.responses]).toEqual([name, idempotency !== "none", idempotency !== "none"]);
  }
});
