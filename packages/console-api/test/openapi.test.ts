import { CONSOLE_ROUTES, type ConsoleRoute } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { failureOf, openConsole } from "./support/open-console.ts";

interface Operation {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string; schema: object }[];
  requestBody?: { content: Record<string, { schema: { required?: string[] } }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
type Document = { openapi: string; servers: { url: string }[]; paths: Record<string, Record<string, Operation>> };

async function read(): Promise<Document> {
  await using console = await openConsole();
  const response = await console.browser().ask("GET", "/api/openapi.json");
  return (await response.json()) as Document;
}

test("the document is OpenAPI 3.1 and lists every route once", async () => {
  const { openapi, servers, paths } = await read();

  expect([openapi, servers]).toEqual(["3.1.0", [{ url: "http://localhost:8787" }]]);
  const named = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.slice("/api".length)}`),
  );
  expect(named.toSorted()).toEqual(
    Object.keys(CONSOLE_ROUTES)
      .map((name) => name.replace(/:(\w+)/g, "{$1}"))
      .toSorted(),
  );
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
});

test("an operation describes its parameters, responses and security", async () => {
  const { paths } = await read();
  const list = paths["/api/agents/{agent_id}/runs"]?.["get"];
  const invite = paths["/api/members"]?.["post"];

  expect(list?.security).toEqual([{ session: [] }]);
  expect(list?.parameters).toContainEqual({ name: "agent_id", in: "path", required: true, schema: { type: "string" } });
  expect(list?.parameters).toContainEqual(
    expect.objectContaining({ name: "limit", in: "query", schema: expect.objectContaining({ maximum: 100 }) }),
  );
  expect(invite?.requestBody?.content["application/json"]?.schema.required).toEqual(["email", "role"]);
  expect(Object.keys(invite?.responses ?? {})).toEqual([
    "201",
    "400",
    "401",
    "403",
    "409",
    "413",
    "415",
    "422",
    "500",
    "503",
  ]);
  expect(paths["/api/session"]?.["post"]?.security).toEqual([]);
  expect(paths["/api/session"]?.["delete"]?.responses["204"]).toEqual({ description: "Done" });
  expect(paths["/api/live"]?.["get"]?.responses["200"]?.content).toHaveProperty("text/event-stream");
});

test("an operation lists the scopes with which a service token may use it", async () => {
  const { paths } = await read();
  const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
  const ofTokens = routes.filter(([, { scopes }]) => scopes !== undefined);

  expect(ofTokens.length).toBeGreaterThan(20);
  for (const [name, { scopes = [] }] of ofTokens) {
    const [method = "", path = ""] = name.split(" ");
    const { security, responses } = paths[`/api${path.replace(/:(\w+)/g, "{$1}")}`]![method.toLowerCase()]!;
    expect(security, name).toEqual([{ session: [] }, ...scopes.map((all) => ({ serviceToken: [...all] }))]);
    expect(Object.keys(responses), name).toEqual(expect.arrayContaining(["401", "403"]));
  }
  expect(paths["/api/agents"]!["post"]!.security).toContainEqual({ serviceToken: ["agents:write", "keys:write"] });
  expect(paths["/api/service-tokens"]!["post"]!.security).toContainEqual({ serviceToken: expect.any(Array) });
});

test("unknown routes and methods are answered with the console's error body", async () => {
  await using console = await openConsole();
  const browser = console.browser();
  const unknown = await browser.ask("GET", "/api/nothing", { headers: { "X-Request-Id": "mine" } });
  const wrong = await browser.ask("PUT", "/api/members/mem_1");
  const head = await browser.ask("HEAD", "/api/live");

  expect(await unknown.json()).toMatchObject({ success: false, code: "not_found", requestId: "mine" });
  expect(unknown.headers.get("X-Request-Id")).toBe("mine");
  expect(wrong.headers.get("Allow")).toBe("PATCH, DELETE");
  expect(await failureOf(wrong)).toEqual([405, "method_not_allowed"]);
  expect(head.status).toBe(405);
});

test("a body over 1 MiB is rejected, and faults of a body are listed", async () => {
  await using console = await openConsole();
  const browser = console.browser();
  const large = await browser.ask("POST", "/api/session", {
    body: { email: "a@example.com", password: "x".repeat(1_048_577) },
  });
  const wrong = await browser.ask("POST", "/api/session", { body: { email: "not an address" } });
  const broken = await browser.ask("POST", "/api/session", { body: "{" });

  expect(await failureOf(large)).toEqual([413, "payload_too_large"]);
  expect(await wrong.json()).toMatchObject({
    code: "invalid_request",
    details: [{ path: "email" }, { path: "password" }],
  });
  expect(await failureOf(broken)).toEqual([400, "invalid_request"]);
});
