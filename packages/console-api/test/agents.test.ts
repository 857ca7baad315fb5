import type { Agent, AgentDetail, CreatedAgent } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

test("an agent is created with a valid key and appears in the list", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");

  const response = await developer.ask("POST", "/agents", { body: { name: "Buyer", instructions: "Buy well." } });
  const { agent, key } = (await response.json()) as CreatedAgent;

  expect(response.status).toBe(201);
  expect(agent).toMatchObject({ name: "Buyer", instructions: "Buy well.", runtimes: 0, functions: null, queries: 0 });
  expect(key).toMatchObject({
    secret: expect.stringMatching(/^service_live_/),
    credential: { kind: "api", agentId: agent.agentId, state: "active", lastUsedAt: null },
  });
  const queried = await fetch(`${desk.url}/agents/${agent.agentId}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key.secret },
    body: JSON.stringify({ query: "Hello" }),
  });
  expect(await queried.json()).toMatchObject({ code: "agent_session_not_found" });
  const { items } = await developer.json<Page<Agent>>("GET", "/agents");
  expect(items).toMatchObject([
    { agentId: agent.agentId, queries: 1, failed: 1 },
    { name: "Desk", runtimes: 1, functions: 4 },
  ]);
});

test("the audit log names the member who changes an agent", async () => {
  await using desk = await openDesk();
  const owner = await desk.member("owner");

  await owner.json("PATCH", desk.agent, { body: { name: "Front desk", instructions: "Be brief." } });
  await owner.json("DELETE", desk.agent);

  expect(await failureOf(await owner.ask("GET", desk.agent))).toEqual([404, "not_found"]);
  const { items } = await desk.admin.listAdministration(desk.orgId, { action: "agent" });
  expect(items.slice(0, 2)).toMatchObject([
    { action: "agent.deleted", keyId: owner.memberId },
    { action: "agent.updated", keyId: owner.memberId, detail: { changed: ["name", "instructions"] } },
  ]);
  expect((await desk.post(`/agents/${desk.agentId}/query`, { query: "Hello" })).status).toBe(401);
});

test("a member sets whether function sets that widen access need a confirmation, and the audit log records it", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  expect(await developer.json("GET", desk.agent)).toMatchObject({ accessChanges: "follow" });

  const changed = await developer.json("PATCH", desk.agent, { body: { accessChanges: "confirm" } });

  expect(changed).toMatchObject({ name: "Desk", accessChanges: "confirm" });
  expect(await failureOf(await developer.ask("PATCH", desk.agent, { body: { accessChanges: "ask" } }))).toEqual([
    400,
    "invalid_request",
  ]);
  const { items } = await desk.admin.listAdministration(desk.orgId, { action: "agent.updated" });
  expect(items).toMatchObject([{ detail: { changed: ["accessChanges"], accessChanges: "confirm" } }]);
});

test("a member changes settings one by one, and faults are named by their paths", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  expect((await developer.json<AgentDetail>("GET", desk.agent)).settings).toEqual({});
  await developer.json("PATCH", desk.agent, { body: { settings: { temperature: 0.2, steps: 3 } } });

  const changed = await developer.json<AgentDetail>("PATCH", desk.agent, {
    body: { settings: { steps: null, locked: ["model"] } },
  });

  expect(changed.name).toBe("Desk");
  expect(changed.settings).toEqual({ temperature: 0.2, locked: ["model"] });
  expect(await developer.json("GET", desk.agent)).toEqual(changed);
  const settings = { temperature: 3, fallback: [{ provider: "openai", model: "a b" }], colour: "red" };
  const refused = await developer.ask("PATCH", desk.agent, { body: { settings } });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    {
      code: "invalid_request",
      details: [
        { path: "settings.temperature" },
        { path: "settings.fallback.0.model" },
        { path: "settings", message: expect.stringContaining("colour") as string },
      ],
    },
  ]);
  const { items } = await desk.admin.listAdministration(desk.orgId, { action: "agent.updated" });
  expect(items[0]).toMatchObject({
    keyId: developer.memberId,
    detail: { settings: { steps: { from: 3, to: null }, locked: { from: null, to: ["model"] } } },
  });
});

test("a model without a price is rejected for a charged organisation", async () => {
  await using desk = await openDesk({ tier: "starter", providers: { openai: { apiKey: "key", api: "chat" } } });
  const developer = await desk.member("developer");

  const refused = await developer.ask("PATCH", desk.agent, { body: { settings: { model: "claude-next" } } });

  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { code: "model_not_allowed", details: [{ path: "settings.model" }] },
  ]);
});

test("an empty change changes nothing and is not audited", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");

  expect(await developer.json("PATCH", desk.agent, { body: {} })).toMatchObject({ name: "Desk" });

  const { items } = await desk.admin.listAdministration(desk.orgId, { action: "agent.updated" });
  expect(items).toEqual([]);
});

test("the list is paged and can be searched by name", async () => {
  await using desk = await openDesk();
  for (const name of ["Anna", "Berta", "Bertram"]) await desk.admin.createAgent(name, { orgId: desk.orgId });
  const viewer = await desk.member("viewer");

  const names: string[] = [];
  let cursor: string | null = "";
  do {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page: Page<Agent> = await viewer.json("GET", `/agents?q=bert&limit=1${query}`);
    names.push(...page.items.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== null);

  expect(names.toSorted()).toEqual(["Berta", "Bertram"]);
});

test.each([
  ["GET", "", undefined],
  ["PATCH", "", { name: "Mine" }],
  ["DELETE", "", undefined],
  ["GET", "/credentials", undefined],
  ["POST", "/credentials", { kind: "api" }],
  ["GET", "/runtimes", undefined],
  ["GET", "/functions", undefined],
  ["GET", "/function-sets", undefined],
  ["GET", "/access", undefined],
  ["POST", "/functions/show_order/test-calls", { arguments: { id: 1 } }],
  ["POST", "/functions/show_order/test-calls-stream", { arguments: { id: 1 } }],
  ["POST", "/playground", { query: "Show order 1" }],
])("%s %s of another organisation's agent is as of none", async (method, path, body) => {
  await using desk = await openDesk();
  const { orgId } = await desk.admin.createOrg("Other");
  const stranger = await desk.member("owner", orgId);
  const ask = (agentId: string) =>
    stranger.ask(method, `/agents/${agentId}${path}`, body === undefined ? {} : { body });
  const contentOf = async (response: Response) => {
    const { requestId: _, ...rest } = (await response.json()) as Record<string, unknown>;
    return [response.status, rest];
  };

  const foreign = await contentOf(await ask(desk.agentId));

  expect(foreign).toEqual(await contentOf(await ask("agt_none")));
  expect(foreign[0]).toBe(404);
});
