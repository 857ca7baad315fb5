import { functionSources } from "@patchbay/functions/sources";
import { expect, test } from "vitest";
import type { JsonObject } from "@patchbay/functions";
import { openapiFunctions, type OperationOverride } from "../src/index.ts";
import { answering, documentOf, memoryLog, openShop } from "./support/shop.ts";

const ORDERS = documentOf({
  "GET /orders": { operationId: "listOrders", summary: "Lists orders", description: "Newest first." },
  "GET /orders/{id}": {
    operationId: "orders/get",
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
  },
  "PUT /orders": { operationId: "replaceOrders" },
  "POST /orders": { operationId: "createOrder", deprecated: true },
  "DELETE /orders": {},
});

test("an operation is a function with an effect by its method, and without an id has its method and path as name", async () => {
  await using shop = await openShop(ORDERS);
  expect(
    shop.manifest.functions.map(({ name, effect, idempotent, deprecated }) => [name, effect, idempotent, deprecated]),
  ).toEqual([
    ["shop_listOrders", "read", true, undefined],
    ["shop_replaceOrders", "write", true, undefined],
    ["shop_createOrder", "write", false, "the document says that it is deprecated"],
    ["shop_delete_orders", "destructive", true, undefined],
    ["shop_orders_get", "read", true, undefined],
  ]);
  expect(shop.manifest.functions[0]).toMatchObject({
    title: "Lists orders",
    description: "Lists orders\n\nNewest first.",
    flow: { foreign: true, returns: "untrusted" },
  });
});

test("an operation without a role is not offered, and the most exact entry decides", async () => {
  await using shop = await openShop(ORDERS, {
    roles: { "GET *": ["support"], "GET /orders/*": ["manager"], listOrders: "everyone", "DELETE /orders": ["admin"] },
  });
  expect(Object.fromEntries(shop.manifest.functions.map(({ name, roles }) => [name, roles]))).toEqual({
    shop_listOrders: "everyone",
    shop_delete_orders: ["admin"],
    shop_orders_get: ["manager"],
  });
  expect(await shop.call("orders_get", { id: "1" }, { role: "support" })).toMatchObject({ code: "unknown_function" });
});

test("decisions for several operations apply together, the most exact last", async () => {
  await using shop = await openShop(ORDERS, {
    override: {
      "*": { foreign: false, returns: "trusted", timeoutMs: 1000 },
      "GET *": { timeoutMs: 2000 },
      listOrders: { name: "orders", effect: "write" },
    },
    flows: { mode: "report" },
  });
  expect(shop.manifest.functions[0]).toMatchObject({ name: "orders", effect: "write", timeoutMs: 2000 });
  expect(shop.manifest.functions[0]!.flow).toEqual({ returns: "trusted", mode: "report", by: [] });
  expect(shop.manifest.functions[1]).toMatchObject({ name: "shop_replaceOrders", timeoutMs: 1000 });
});

test("ids that two operations share are not used, and two operations with one name are one function", async () => {
  const same = { operationId: "get" };
  await using shop = await openShop(documentOf({ "GET /a": same, "GET /b": same, "GET /a-": {} }));
  expect(shop.manifest.functions.map(({ name }) => name)).toEqual(["shop_get_a", "shop_get_b"]);
  expect(shop.api.leftOut).toEqual([
    { name: "get_a", reason: "another operation is the function shop_get_a; name one in override" },
  ]);
});

test("options that name no operation are in the log, with names that the document has", async () => {
  await using shop = await openShop(ORDERS, { roles: { listOrder: "everyone" }, override: { "PATCH *": {} } });
  expect(shop.log.lines).toEqual([
    {
      level: "warn",
      message: "the document has no operations that the options name",
      fields: {
        operations: ["listOrder", "PATCH *"],
        names: ["listOrders", "replaceOrders", "createOrder", "delete_orders", "orders/get"],
      },
    },
  ]);
});

const idOf = (schema: JsonObject): JsonObject => ({ name: "id", in: "query", schema });
const HIDDEN = { visibleTo: { a: ["manager"] } };

test.each<[string, JsonObject, OperationOverride?]>([
  ["its answer is a stream of events", { responses: { 200: { content: { "text/event-stream": {} } } } }],
  ["its reference #/components/parameters/Id has no target", { parameters: [{ $ref: "#/components/parameters/Id" }] }],
  ["its reference #/components/schemas/Id has no target", { parameters: [idOf({ $ref: "#/components/schemas/Id" })] }],
  ["its parameter id has a form that is not supported", { parameters: [{ ...idOf({}), in: "path", style: "matrix" }] }],
  [
    "its server is https://files.example.com. Use openapiFunctions again with that server",
    { servers: [{ url: "https://files.example.com" }] },
  ],
  ["visibleTo: the document does not describe its answer", {}, HIDDEN],
  [
    'visibleTo: the answer has no "a". In place of "a" it has: b',
    { responses: answering({ properties: { b: {} } }) },
    HIDDEN,
  ],
])("an operation is left out: %s", async (reason, operation, override = {}) => {
  await using shop = await openShop(
    documentOf({ "GET /a": { operationId: "a", ...operation }, "GET /b": {} }, { servers: [{ url: "/v1" }] }),
    { override: { a: override } },
  );
  expect(shop.api.leftOut).toEqual([{ name: "a", reason }]);
  expect(shop.manifest.functions.map(({ name }) => name)).toEqual(["shop_get_b"]);
});

test("a path with a parameter that is not described cannot be called", async () => {
  await using shop = await openShop(documentOf({ "GET /orders/{id}": { operationId: "a" } }));
  expect(shop.api.leftOut).toEqual([{ name: "a", reason: "its path has {id}, which no parameter describes" }]);
});

test("an operation that states a server of the document is for the owner's server too", async () => {
  const servers = [{ url: "https://api.example.com" }];
  await using shop = await openShop(documentOf({ "GET /a": { servers } }, { servers }));
  expect(await shop.sent("get_a")).toMatchObject({ url: "/a" });
});

test.each([
  [{ name: "a b" }, "name must be 1 to 32"],
  [{ role: {} }, "unknown option role"],
  [{ roles: undefined }, "roles is missing"],
  [{ document: 1 }, "document must be a file, a URL or an object"],
  [{ auth: "token" }, "auth must be an object of credentials by security scheme"],
  [{ override: { listOrders: { timeoutMs: -1 } } }, "timeoutMs must be an integer"],
  [{ override: { listOrders: { visibleTo: {}, output: {} } } }, "Mark the parts of output"],
  [{ server: undefined }, 'Give server: "https://api.example.com"'],
])("the options %o are refused", async (options, message) => {
  const given = {
    name: "shop",
    document: ORDERS,
    server: "http://localhost",
    roles: { "*": "everyone" },
    log: memoryLog(),
  };
  await expect(openapiFunctions({ ...given, ...options } as never)).rejects.toThrow(message);
  expect(functionSources()).toEqual([]);
});
