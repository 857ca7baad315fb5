import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { functionSources } from "@patchbay/functions/sources";
import { afterEach, expect, test } from "vitest";
import { openapiFunctions, type OpenApiOptions } from "../src/index.ts";
import { documentOf, json, memoryLog, startStandIn, temporaryFolder } from "./support/shop.ts";

const YAML = `
openapi: 3.0.3
info: { title: Shop, version: "1" }
servers: [{ url: https://shop.example.com/v1 }]
paths:
  /orders/{id}: { $ref: "paths/order.yaml" }
tags: [{ name: a, description: { $ref: "missing.md" } }]
`;
const PATH = `
get:
  operationId: getOrder
  parameters: [{ name: id, in: path, required: true, schema: { $ref: "../schemas.yaml#/Id" } }]
  responses:
    "200":
      description: ok
      content: { application/json: { schema: { $ref: "../schemas.yaml#/Order" }, examples: { a: { $ref: "missing.json" } } } }
`;
const SCHEMAS = `
Id: { type: string }
Order: { type: object, properties: { id: { $ref: "#/Id" }, parent: { $ref: "#/Order" } } }
`;

const opened: { close(): void }[] = [];
afterEach(() => opened.splice(0).forEach((api) => api.close()));

async function open(document: OpenApiOptions["document"], options: Partial<OpenApiOptions> = {}) {
  const log = memoryLog();
  const api = await openapiFunctions({ name: "shop", document, roles: { "*": ["support"] }, log, ...options });
  opened.push(api);
  return { ...api, log, names: api.functions.map(({ manifest }) => manifest.name) };
}

async function folderWith(files: Record<string, string>) {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  return { ...folder, at: (name: string) => join(folder.path, name) };
}

const sentences = () => functionSources().flatMap((source) => source.drift().map(({ sentence }) => sentence));

test("a document may be in several files, and what it does not need may be missing", async () => {
  await using folder = await folderWith({
    "openapi.yaml": YAML.replace("paths/order.yaml", "order.yaml"),
    "order.yaml": PATH.replaceAll("../", ""),
    "schemas.yaml": SCHEMAS,
  });
  for (const document of [folder.at("openapi.yaml"), pathToFileURL(folder.at("openapi.yaml"))]) {
    const { functions } = await open(document);
    expect(functions.map(({ manifest }) => [manifest.name, manifest.inputSchema["properties"]])).toEqual([
      ["shop_getOrder", { id: { type: "string" } }],
    ]);
  }
});

test("a document and its files come from one server", async () => {
  await using standIn = await startStandIn();
  await using other = await startStandIn();
  const document = documentOf({ "GET /a": {} }, { servers: [{ url: "/v1" }] });
  const schema = (ref: string) => ({ parameters: [{ name: "q", in: "query", schema: { $ref: ref } }] });
  other.answer = json({ type: "string" });
  standIn.answer = (request, response) =>
    json(request.url === "/s.json" ? { type: "string" } : { ...document, paths: { "/a": { get: schema("s.json") } } })(
      request,
      response,
    );
  expect((await open(`${standIn.url}/openapi.json`)).names).toEqual(["shop_get_a"]);

  standIn.answer = json({ ...document, paths: { "/a": { get: schema(`${other.url}/s.json`) } } });
  await expect(open(`${standIn.url}/openapi.json`)).rejects.toThrow(
    `API "shop": the document ${standIn.url}/openapi.json cannot be used`,
  );
  await using folder = await folderWith({
    "openapi.json": JSON.stringify({ ...document, paths: { "/a": { get: schema(`${other.url}/s.json`) } } }),
  });
  await expect(open(folder.at("openapi.json"))).rejects.toThrow("cannot be used");
  expect(other.received).toEqual([]);
});

test("a document from a URL does not decide by itself that calls go to another server", async () => {
  await using standIn = await startStandIn();
  standIn.answer = json(documentOf({ "GET /a": {} }, { servers: [{ url: "https://api.example.com/v1" }] }));
  const document = `${standIn.url}/openapi.json`;
  await expect(open(document)).rejects.toThrow(
    `the document of ${standIn.url} sends calls to https://api.example.com. If that is right, confirm it with server: "https://api.example.com/v1".`,
  );
  expect((await open(document, { server: "https://api.example.com/v1" })).names).toEqual(["shop_get_a"]);
});

test.each([
  [{ swagger: "2.0" }, "it is Swagger 2.0. Convert it to OpenAPI 3"],
  [{ openapi: "4.0.0" }, 'its member "openapi" is "4.0.0"'],
  [{}, 'its member "openapi" is null'],
  [{ openapi: "3.1.0" }, "it has no paths"],
])("a document that is not OpenAPI 3 is refused: %o", async (document, reason) => {
  await expect(open(document)).rejects.toThrow(`API "shop": the document cannot be used: ${reason}`);
});

test("a document that cannot be read is refused with its place", async () => {
  await using folder = await folderWith({ "broken.yaml": "a: 1\na: 2" });
  await expect(open(folder.at("none.yaml"))).rejects.toThrow(/none\.yaml cannot be used: .*ENOENT/);
  await expect(open(folder.at("broken.yaml"))).rejects.toThrow(/broken\.yaml cannot be used: .*duplicated mapping key/);
});

test("with a lock file only what was accepted is offered, and the difference names the operation", async () => {
  await using folder = await temporaryFolder();
  const lock = join(folder.path, "tools.lock.json");
  const document = (description: string) =>
    documentOf({ "GET /a": { description }, "GET /b": {} }, { servers: [{ url: "https://api.example.com" }] });
  {
    const { names, log } = await open(document("Reads."), { lock });
    expect(names).toEqual([]);
    expect(log.lines.map(({ message }) => message).join()).toContain("patchbay pin FILE");
    expect(sentences()[0]).toBe(`API "shop": the operation "get_a" is not in ${lock}`);
    for (const source of functionSources()) await source.pin();
  }
  opened.splice(0).forEach((api) => api.close());
  expect((await open(document("Reads."), { lock })).names).toEqual(["shop_get_a", "shop_get_b"]);
  expect(sentences()).toEqual([]);
  opened.splice(0).forEach((api) => api.close());

  const changed = await open(document("Reads\u200b."), { lock });
  expect(changed.names).toEqual(["shop_get_b"]);
  expect(sentences()).toEqual([`API "shop": the operation "get_a" differs from ${lock} in its description`]);
  opened.splice(0).forEach((api) => api.close());

  const moved = await open({ ...document("Reads."), servers: [{ url: "https://evil.example.com" }] }, { lock });
  expect(moved.names).toEqual([]);
  expect(sentences()).toEqual([
    `API "shop": its server is "https://evil.example.com", and ${lock} is for "https://api.example.com"`,
  ]);
  const file = JSON.parse(await readFile(lock, "utf8")) as { servers: { shop: { tools: object } } };
  expect(file.servers.shop.tools).toMatchObject({ get_a: { method: "GET", path: "/a", description: "Reads." } });
});

test("the lock file has the operations with roles only", async () => {
  await using folder = await temporaryFolder();
  const lock = join(folder.path, "tools.lock.json");
  const document = documentOf({ "GET /a": {}, "GET /b": {} });
  await open(document, { lock, server: "http://localhost", roles: { get_a: ["support"] } });
  expect(sentences()).toEqual([`API "shop": the operation "get_a" is not in ${lock}`]);
});
