import type { JsonObject } from "@patchbay/functions";
import { expect, test } from "vitest";
import { documentOf, json, openShop } from "./support/shop.ts";

const SCHEMES: JsonObject = {
  bearer: { type: "http", scheme: "bearer" },
  oauth: { type: "oauth2", flows: {} },
  basic: { type: "http", scheme: "Basic" },
  header: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "key" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
};

const secured = (security: JsonObject[], operation: JsonObject = {}) =>
  documentOf({ "GET /a": operation }, { security, components: { securitySchemes: SCHEMES } });
const needing = (...names: string[]) => secured(names.map((name) => ({ [name]: [] })));

const AUTH = {
  bearer: "token",
  oauth: "access",
  basic: { username: "ada", password: "pw" },
  header: "k1",
  query: "k2&",
  cookie: "k3",
};

test.each<[string, JsonObject]>([
  ["bearer", { headers: { authorization: "Bearer token" } }],
  ["oauth", { headers: { authorization: "Bearer access" } }],
  ["basic", { headers: { authorization: "Basic YWRhOnB3" } }],
  ["header", { headers: { "x-key": "k1" } }],
  ["query", { url: "/a?q=1,2&key=k2%26" }],
  ["cookie", { headers: { cookie: "c=1; sid=k3" } }],
])("credentials of the scheme %s go where it says", async (name, request) => {
  const parameters = [
    { name: "q", in: "query", explode: false },
    { name: "c", in: "cookie" },
  ];
  await using shop = await openShop(secured([{ [name]: [] }], { parameters }), { auth: AUTH });
  expect(await shop.sent("get_a", { q: [1, 2], c: 1 })).toMatchObject(request);
});

test("an API key may be the name of HTTP Basic", async () => {
  await using shop = await openShop(needing("basic"), { auth: { basic: "key_123" } });
  expect((await shop.sent("get_a")).headers.authorization).toBe(`Basic ${btoa("key_123:")}`);
});

test("schemes that belong together are used together, and of alternatives the first with credentials", async () => {
  await using shop = await openShop(
    secured([
      { bearer: [], query: [] },
      { header: [], cookie: [] },
    ]),
    {
      auth: { bearer: "token", header: "k1", cookie: "k3" },
    },
  );
  const { url, headers } = await shop.sent("get_a");
  expect([url, headers["x-key"], headers.cookie, headers.authorization]).toEqual(["/a", "k1", "sid=k3", undefined]);
});

test("a parameter that is a credential is not one of the input", async () => {
  const parameters = [
    { name: "x-key", in: "header" },
    { name: "key", in: "query" },
  ];
  await using shop = await openShop(secured([{ header: [] }], { parameters }), { auth: AUTH });
  expect(shop.manifest.functions[0]!.inputSchema).toMatchObject({ properties: { key: {} } });
  expect((await shop.sent("get_a", { "x-key": "mine" })).headers["x-key"]).toBe("k1");
});

test("an operation without credentials is left out, and one that needs none is offered", async () => {
  await using shop = await openShop(needing("bearer", "header"), { auth: { query: "k2" } });
  expect(shop.api.leftOut).toEqual([
    { name: "get_a", reason: "it needs credentials. Give auth an entry for bearer, or header" },
  ]);
  await using open = await openShop(secured([{ bearer: [] }, {}]));
  expect((await open.sent("get_a")).headers.authorization).toBeUndefined();
  await using none = await openShop(secured([{ bearer: [] }], { security: [] }));
  expect((await none.sent("get_a")).headers.authorization).toBeUndefined();
  await using own = await openShop(needing("bearer"), { headers: { "X-Key": "k" } });
  expect((await own.sent("get_a")).headers["x-key"]).toBe("k");
});

test("credentials that are undefined send no request", async () => {
  await using shop = await openShop(needing("bearer"), { auth: { bearer: process.env["NO_SUCH_TOKEN"] } });
  expect(await shop.call("get_a")).toMatchObject({ ok: false, code: "function_failed" });
  expect(shop.standIn.received).toEqual([]);
  expect(JSON.stringify(shop.log.lines)).toContain("function failed");
});

test("credentials and headers can be chosen for each call", async () => {
  await using shop = await openShop(needing("bearer"), {
    auth: async ({ context }) => ({ bearer: `token of ${context["user"] as string}` }),
    headers: ({ callId, role }) => ({ "Idempotency-Key": callId, "X-Role": role ?? "none" }),
  });
  const { headers } = await shop.sent("get_a", {}, { context: { user: "ada" } });
  expect(headers).toMatchObject({
    authorization: "Bearer token of ada",
    "idempotency-key": "call_1",
    "x-role": "none",
  });
});

test("the caller's token is the credential of operations that need it", async () => {
  await using shop = await openShop(needing("bearer"), {
    override: { "*": { needsCallerToken: true } },
    auth: ({ caller }) => ({ bearer: caller?.token }),
  });
  const ada = { subject: "ada", issuer: "https://id.example", claims: {} };
  const { headers } = await shop.sent("get_a", {}, { caller: { ...ada, token: "token-of-ada" } });
  expect(headers.authorization).toBe("Bearer token-of-ada");
  expect(await shop.call("get_a", {}, { caller: ada })).toMatchObject({ code: "caller_token_expired" });
  expect(shop.standIn.received).toHaveLength(1);
});

test("an error shows no credential, however it was encoded", async () => {
  await using shop = await openShop(needing("basic"), { auth: { basic: { username: "ada", password: "pa55word" } } });
  shop.standIn.answer = (request, response) =>
    json({ message: `${request.headers.authorization} pa55word` }, 401)(request, response);
  expect(await shop.call("get_a")).toMatchObject({
    message: expect.stringContaining('"Basic [credential] [credential]"'),
  });
});
