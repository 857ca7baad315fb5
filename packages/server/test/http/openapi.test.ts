import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { validateAnswer } from "@patchbay/schema";
import type { JsonObject } from "@patchbay/kit";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/query/routes.ts";
import { startHttp } from "./support/start-http.ts";

interface Json {
  [name: string]: Json;
}
type JsonContent = { schema: JsonObject; example?: JsonObject };
type Operation = {
  tags: string[];
  parameters?: { in: string; example?: string }[];
  responses: Record<string, { description: string; content?: object }>;
};
type Document = {
  tags: { name: string }[];
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Json>;
  components: Json;
  "x-limits": Json;
};

async function read(
  overrides: Parameters<typeof startHttp>[0] = {},
  headers: Record<string, string> = {},
): Promise<Document> {
  await using http = await startHttp(overrides);
  const response = await fetch(`${http.url}/openapi.json`, { headers });
  expect(response.headers.get("Content-Type")).toBe("application/json");
  return (await response.json()) as Document;
}

describe("GET /openapi.json", () => {
  test("is OpenAPI 3.1 and names every route with its method", async () => {
    const document = await read();
    expect(document.openapi).toBe("3.1.0");
    const named = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(named).toEqual(
      ROUTES.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")}`),
    );
  });

  test("omits the local variant outside development", async () => {
    const { paths } = await read({ local: false });
    expect(Object.keys(paths).filter((path) => path.startsWith("/agent/"))).toEqual([]);
  });

  test("lists the errors of a runtime's connection, rate limits included", async () => {
    const { paths } = await read();
    expect(Object.keys(paths["/functions/connect"]!["get"]!["responses"]!)).toEqual(
      expect.arrayContaining(["401", "403", "429", "503"]),
    );
  });

  test("requires what the service document requires", async () => {
    const schemas = (await read()).components["schemas"]!;
    expect(schemas["ToolCall"]!["required"]).toEqual(["toolName", "parameters", "success"]);
    expect(schemas["QueryRequest"]!["required"]).toEqual(["query"]);
    expect(schemas["LlmConfig"]!["required"]).toEqual(["provider"]);
    expect(schemas["QueryResponse"]!["required"]).toEqual(
      expect.arrayContaining([
        "success",
        "response",
        "threadId",
        "executionTimeMs",
        "toolInteractions",
        "errorMessage",
      ]),
    );
    expect(schemas["QueryRequest"]!["properties"]!["contextJson"]).toMatchObject({ type: "string" });
  });

  test("lists every operator limit with its description, default and value", async () => {
    const limits = (await read({ limits: { ...DEFAULT_LIMITS, streamsPerKey: 7 } }))["x-limits"];
    expect(Object.keys(limits)).toEqual(Object.keys(DEFAULT_LIMITS));
    expect(limits["streamsPerKey"]).toMatchObject({ default: 1_000, value: 7 });
    for (const [name, limit] of Object.entries(limits))
      expect(limit, name).toMatchObject({ default: expect.any(Number), description: expect.stringMatching(/\w{4}/) });
  });

  test("lists the properties and parameters of threads and runs", async () => {
    const { paths, components } = await read();
    const parametersOf = (path: string) =>
      (paths[path]!["get"]!["parameters"] as unknown as { name: string }[]).map(({ name }) => name);
    expect(parametersOf("/agents/{agent_id}/threads")).toEqual([
      "agent_id",
      "limit",
      "cursor",
      "sessionId",
      "X-Patchbay-Caller",
    ]);
    expect(parametersOf("/agents/{agent_id}/threads/{thread_id}")).toEqual([
      "agent_id",
      "thread_id",
      "limit",
      "cursor",
      "X-Patchbay-Caller",
    ]);
    const schemas = components["schemas"]!;
    expect(schemas["ThreadDetail"]!["required"]).toContain("nextCursor");
    expect(schemas["RunDetail"]!["properties"]).toMatchObject({ requestId: {}, usage: {} });
    expect(schemas["QueryRequest"]!["properties"]!["query"]).toMatchObject({ maxLength: 100_000 });
    expect(paths["/agents/{agent_id}/runs/{run_id}/events"]!["get"]!["responses"]).toHaveProperty("429");
  });

  test("describes streams as text/event-stream with the schema of the events", async () => {
    const { paths } = await read();
    const content = paths["/agents/{agent_id}/query-stream"]!["post"]!["responses"]!["200"]!["content"];
    expect(content).toMatchObject({
      "text/event-stream": { schema: { anyOf: [{ $ref: "#/components/schemas/RunEvent" }, {}] } },
    });
  });

  test("has no dangling reference", async () => {
    const document = await read();
    const text = JSON.stringify(document);
    const refs = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!);
    expect(refs.length).toBeGreaterThan(10);
    for (const name of refs) expect(document.components["schemas"]).toHaveProperty(name);
    expect(text).not.toContain('"$id"');
  });

  test("declares each parameter of a path", async () => {
    for (const [path, methods] of Object.entries((await read()).paths))
      for (const operation of Object.values(methods)) {
        const declared = Object.values(operation["parameters"] ?? {}) as unknown[] as { name: string; in: string }[];
        const inPath = declared.filter((one) => one.in === "path").map((one) => `{${one.name}}`);
        expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
      }
  });

  test("has an example, which its schema accepts, of each JSON body and answer", async () => {
    const { paths, components } = await read();
    const contents = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) =>
        [operation["requestBody"]!, ...Object.values(operation["responses"]!)].flatMap((one) =>
          one?.["content"]?.["application/json"] ? [one["content"]["application/json"] as unknown as JsonContent] : [],
        ),
      ),
    );
    expect(contents.length).toBeGreaterThan(100);
    for (const { schema, example = expect.fail(`no example of ${JSON.stringify(schema)}`) } of contents)
      expect(validateAnswer({ ...schema, components }, example), JSON.stringify(example)).toEqual([]);
  });

  test("groups the operations by tags that it names, and has an example of each id in a path", async () => {
    const { paths, tags } = await read();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods)) as unknown as Operation[];
    expect([...new Set(operations.flatMap((one) => one.tags))].toSorted()).toEqual(
      tags.map(({ name }) => name).toSorted(),
    );
    for (const { parameters = [] } of operations)
      for (const { in: place, example } of parameters) if (place === "path") expect(example).toMatch(/./);
  });

  test("gives each operation one type of answer, and names the statuses of others", async () => {
    const { paths } = await read();
    for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      const { responses } = operation as unknown as Operation;
      const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
      const types = answers.flatMap(([, { content }]) => (content ? JSON.stringify(content) : []));
      expect(new Set(types).size, JSON.stringify(operation)).toBeLessThanOrEqual(1);
    }
    const { responses } = paths["/agents/{agent_id}/query"]!["post"] as unknown as Operation;
    expect(responses["200"]!.description).toContain("respond-async");
  });

  test("contains the public address, and uses proxy headers only of a trusted proxy", async () => {
    const forwarded = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "api.example" };
    expect((await read({ publicUrl: "https://p.example" })).servers[0]?.url).toBe("https://p.example");
    expect((await read({ trustProxy: true }, forwarded)).servers[0]?.url).toBe("https://api.example");
    expect((await read({}, forwarded)).servers[0]?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });
});
