import type { JsonObject, JsonValue } from "@patchbay/functions";
import { expect, test } from "vitest";
import { documentOf, openShop } from "./support/shop.ts";

const LIST = ["a b", "c,d"];
const OBJECT = { x: "1&", y: 2 };

/** What the API receives of one parameter. */
async function sentAs(parameter: JsonObject, value: JsonValue, path = "/a") {
  await using shop = await openShop(
    documentOf({ [`GET ${path}`]: { operationId: "get", parameters: [{ name: "p", ...parameter }] } }),
  );
  return await shop.sent("get", { p: value });
}

const query = (style?: string, explode?: boolean): JsonObject => ({
  in: "query",
  ...(style && { style }),
  ...(explode !== undefined && { explode }),
});

test.each<[JsonObject, JsonValue, string]>([
  [query(), "a b&c=d", "p=a%20b%26c%3Dd"],
  [query(), LIST, "p=a%20b&p=c%2Cd"],
  [query("form", false), LIST, "p=a%20b,c%2Cd"],
  [query("spaceDelimited", false), LIST, "p=a%20b%20c%2Cd"],
  [query("pipeDelimited", false), LIST, "p=a%20b%7Cc%2Cd"],
  [query(), OBJECT, "x=1%26&y=2"],
  [query("form", false), OBJECT, "p=x,1%26,y,2"],
  [
    query("deepObject", true),
    { a: OBJECT, b: LIST },
    "p%5Ba%5D%5Bx%5D=1%26&p%5Ba%5D%5By%5D=2&p%5Bb%5D%5B0%5D=a%20b&p%5Bb%5D%5B1%5D=c%2Cd",
  ],
  [
    { in: "query", content: { "application/json": { schema: {} } } },
    OBJECT,
    "p=%7B%22x%22%3A%221%26%22%2C%22y%22%3A2%7D",
  ],
  [query(), true, "p=true"],
])("the query %o with %o is %s", async (parameter, value, expected) => {
  expect((await sentAs(parameter, value)).url).toBe(`/a?${expected}`);
});

test.each<[boolean, JsonValue, string]>([
  [false, "a/b?c#d", "a%2Fb%3Fc%23d"],
  [false, LIST, "a%20b,c%2Cd"],
  [false, OBJECT, "x,1%26,y,2"],
  [true, OBJECT, "x=1%26,y=2"],
])("a path with explode %s and %o has %s", async (explode, value, expected) => {
  expect((await sentAs({ in: "path", explode }, value, "/a/{p}/b")).url).toBe(`/a/${expected}/b`);
});

test("headers and cookies are those of the document", async () => {
  expect((await sentAs({ in: "header" }, ["a", 1])).headers["p"]).toBe("a,1");
  expect((await sentAs({ in: "header", explode: true }, { x: "1", y: 2 })).headers["p"]).toBe("x=1,y=2");
  expect((await sentAs({ in: "cookie" }, "a b;c")).headers.cookie).toBe("p=a%20b%3Bc");
});

test.each(["..", ".", "", "a/../b", "..\\c", [".."], { x: ".." }])(
  "a value in a path cannot lead to another operation: %o",
  async (value) => {
    await using shop = await openShop(
      documentOf({ "DELETE /orders/{id}": { parameters: [{ name: "id", in: "path" }] } }),
    );
    expect(await shop.call("delete_orders_id", { id: value as JsonValue })).toEqual({
      ok: false,
      code: "function_failed",
      message: "The call was not sent: id is part of a path, so it may not be empty, . or ...",
    });
    expect(shop.standIn.received).toEqual([]);
  },
);

test("a value in a path cannot be absent", async () => {
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: ["string", "null"] } }];
  await using shop = await openShop(documentOf({ "DELETE /orders/{id}": { parameters } }));
  expect(await shop.call("delete_orders_id", { id: null })).toMatchObject({
    message: "The call was not sent: id is part of a path, so it may not be null.",
  });
});

test("two values cannot either, if together they are a segment", async () => {
  const parameters = ["a", "b"].map((name) => ({ name, in: "path", schema: { type: "string" } }));
  await using shop = await openShop(documentOf({ "GET /x/{a}{b}/y": { operationId: "get", parameters } }));
  expect(await shop.call("get", { a: "%2e", b: "x" })).toMatchObject({ ok: true });
  expect(shop.standIn.received[0]!.url).toBe("/x/%252ex/y");
  // A dot by itself is refused before.
  expect(await shop.call("get", { a: ".", b: "." })).toMatchObject({ code: "function_failed" });
});

test("a value that a header cannot have is refused", async () => {
  await using shop = await openShop(documentOf({ "GET /a": { parameters: [{ name: "X-A", in: "header" }] } }));
  expect(await shop.call("get_a", { "X-A": "a\r\nX-Role: admin" })).toMatchObject({
    message: "The call was not sent: X-A has a character that a header cannot have.",
  });
});

const body = (content: JsonObject, rest: JsonObject = {}) =>
  documentOf({ "POST /a": { operationId: "post", requestBody: { content, ...rest } } });

const FORM = {
  schema: {
    type: "object",
    properties: {
      name: { type: "string" },
      tags: { type: "array", items: { type: "string" } },
      deep: { type: "object" },
      plain: { type: "object" },
    },
  },
  encoding: { deep: { style: "deepObject", explode: true } },
};
const FORM_INPUT = { name: "a&b", tags: ["x", "y"], deep: { a: [1] }, plain: { b: 2 } };

test("a form is encoded as the document says", async () => {
  await using shop = await openShop(body({ "application/x-www-form-urlencoded": FORM }));
  const { headers, body: sent } = await shop.sent("post", FORM_INPUT);
  expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
  expect(sent).toBe("name=a%26b&tags=x&tags=y&deep%5Ba%5D%5B0%5D=1&plain=%7B%22b%22%3A2%7D");
});

test("parts of a form are texts, JSON, and files as texts or data URLs", async () => {
  const file = { type: "string", format: "binary" };
  const properties = { ...FORM.schema.properties, file, files: { type: "array", items: file } };
  await using shop = await openShop(body({ "multipart/form-data": { schema: { type: "object", properties } } }));
  const input = { name: "a", plain: { b: 2 }, file: "one", files: [`data:image/png;base64,${btoa("two")}`, "three"] };
  const { headers, body: sent } = await shop.sent("post", input);
  const form = await new Response(sent, { headers: { "content-type": headers["content-type"]! } }).formData();
  const parts = [...form].map(async ([name, part]) => [
    name,
    typeof part === "string" ? part : [part.type, part.name, await part.text()],
  ]);
  expect(await Promise.all(parts)).toEqual([
    ["name", "a"],
    ["plain", ["application/json", "blob", '{"b":2}']],
    ["file", ["application/octet-stream", "file", "one"]],
    ["files", ["image/png", "files", "two"]],
    ["files", ["application/octet-stream", "files", "three"]],
  ]);
});

test.each(["text/csv", "application/octet-stream", "application/xml"])("a body of %s is a text", async (type) => {
  await using shop = await openShop(body({ [type]: { schema: { type: "string" } } }, { required: true }));
  expect(shop.manifest.functions[0]!.inputSchema).toMatchObject({
    required: ["body"],
    properties: { body: { type: "string" } },
  });
  expect(await shop.sent("post", { body: "a,b" })).toMatchObject({ body: "a,b", headers: { "content-type": type } });
});

test("of several types JSON is sent", async () => {
  const content = {
    "application/xml": {},
    "application/x-www-form-urlencoded": FORM,
    "application/merge-patch+json": FORM,
  };
  await using shop = await openShop(body(content));
  const { headers, body: sent } = await shop.sent("post", FORM_INPUT);
  expect([headers["content-type"], JSON.parse(sent)]).toEqual(["application/merge-patch+json", FORM_INPUT]);
});

test("a body that may be absent is absent without members, and one that must be there is empty", async () => {
  await using optional = await openShop(body({ "application/json": FORM }));
  expect(await optional.sent("post")).toMatchObject({ body: "" });
  await using required = await openShop(body({ "application/json": FORM }, { required: true }));
  expect(await required.sent("post")).toMatchObject({ body: "{}" });
});

test("paths come after the path of the server", async () => {
  const paths = documentOf(
    { "GET /a": {} },
    { servers: [{ url: "https://{region}.example.com/v1/", variables: { region: { default: "eu" } } }] },
  );
  const urls: string[] = [];
  await using shop = await openShop(paths, {
    server: undefined as never,
    fetch: async (url) => {
      urls.push((url as URL).href);
      return Response.json({});
    },
  });
  await shop.call("get_a");
  expect(urls).toEqual(["https://eu.example.com/v1/a"]);
});
