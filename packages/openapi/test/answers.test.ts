import { OutcomeUnknownError } from "@patchbay/functions";
import { expect, test } from "vitest";
import { answering, documentOf, json, openShop } from "./support/shop.ts";

const ORDER = {
  type: "object",
  required: ["id", "total"],
  properties: {
    id: { type: "integer" },
    state: { type: "string", enum: ["open"] },
    total: { type: "number", minimum: 0 },
    password: { type: "string", writeOnly: true },
    lines: {
      type: "array",
      items: { type: "object", properties: { sku: { type: "string" } }, additionalProperties: false },
    },
    customer: { type: "object", properties: { name: { type: "string" }, email: { type: "string" } } },
  },
};
const orders = (schema = ORDER) => documentOf({ "GET /order": { operationId: "get", responses: answering(schema) } });

test("an answer has what the document lists, in its form", async () => {
  await using shop = await openShop(orders());
  shop.standIn.answer = json({
    id: 1,
    total: 2,
    internal: "x",
    password: "x",
    lines: [{ sku: "a", cost: 1 }],
    customer: null,
  });
  expect(await shop.call("get")).toMatchObject({ value: { id: 1, total: 2, lines: [{ sku: "a" }], customer: null } });
});

test("an answer that differs in its values is one, so that a change that was made does not fail", async () => {
  await using shop = await openShop(orders());
  shop.standIn.answer = json({ id: "A1", state: "closed", total: -1, customer: [] });
  expect(await shop.call("get")).toMatchObject({
    ok: true,
    value: { id: "A1", state: "closed", total: -1, customer: [] },
  });
});

test("an answer with an object or a list where the document has another form fails", async () => {
  await using shop = await openShop(orders());
  for (const answer of [{ id: { secret: 1 } }, { lines: { sku: "a" } }, { customer: [{ name: "a" }] }]) {
    shop.standIn.answer = json(answer);
    expect(await shop.call("get")).toMatchObject({ ok: false, code: "function_failed" });
  }
});

test("numbers keep their digits", async () => {
  await using shop = await openShop(orders());
  shop.standIn.answer = (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end('{"id":9007199254740993,"total":1.5}');
  expect(await shop.call("get")).toMatchObject({ value: { id: "9007199254740993", total: 1.5 } });
});

test.each([
  ["text/plain", "hello", "hello"],
  ["text/csv", "1,2", "1,2"],
  ["image/png", "....", "[image/png, 4 bytes left out]"],
  ["text/plain", "", "Done, with status 200 and no content."],
])("an answer of %s is a text", async (type, sent, value) => {
  const responses = { 200: { description: "ok", content: { [type]: {} } } };
  await using shop = await openShop(documentOf({ "GET /a": { responses } }));
  shop.standIn.answer = (_request, response) =>
    void response.writeHead(200, { "content-type": type, "content-length": sent.length }).end(sent);
  expect(await shop.call("get_a")).toMatchObject({ ok: true, value });
});

test("an answer without content is a note next to one with a schema, and has its form otherwise", async () => {
  const responses = { ...answering(ORDER), 204: { description: "nothing" }, 404: { description: "none" } };
  await using shop = await openShop(documentOf({ "GET /a": { responses } }));
  shop.standIn.answer = (_request, response) => void response.writeHead(204).end();
  expect(await shop.call("get_a")).toMatchObject({ value: "Done, with status 204 and no content." });
  shop.standIn.answer = json({ id: 1, internal: 1 });
  expect(await shop.call("get_a")).toMatchObject({ value: { id: 1 } });
});

test("an answer that the document says has no content has no object", async () => {
  const responses = { 204: { description: "gone" } };
  await using shop = await openShop(documentOf({ "DELETE /a": { responses } }));
  shop.standIn.answer = json({ secret: 1 });
  expect(await shop.call("delete_a")).toMatchObject({ ok: false, code: "function_failed" });
});

test("an answer that is not described is sent whole, and one that is too large fails", async () => {
  await using shop = await openShop(documentOf({ "GET /a": { responses: { 200: { description: "ok" } } } }));
  shop.standIn.answer = json({ a: [1] });
  expect(await shop.call("get_a")).toMatchObject({ value: { a: [1] } });
  shop.standIn.answer = json("x".repeat(300_000));
  expect(await shop.call("get_a")).toMatchObject({ code: "result_too_large" });
  shop.standIn.answer = (_request, response) => void response.writeHead(200).end("x".repeat(17 * 1024 * 1024));
  expect(await shop.call("get_a")).toMatchObject({
    message: 'The API "shop" answered with status 200, and with more than 16777216 bytes.',
  });
  shop.standIn.answer = (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end("{");
  expect(await shop.call("get_a")).toMatchObject({
    message: 'The API "shop" answered with status 200, and with JSON that is not valid JSON.',
  });
});

test("results and errors are untrusted unless the owner says otherwise", async () => {
  await using shop = await openShop(orders(), { flows: { mode: "report" } });
  expect(await shop.call("get")).toMatchObject({ ok: true, flow: { untrusted: ["$"] } });
  shop.standIn.answer = json({ message: "no" }, 404);
  expect(await shop.call("get")).toMatchObject({ ok: false, flow: { untrusted: ["$"] } });
});

const WRITES = documentOf({ "GET /a": {}, "POST /a": {}, "PUT /a": {} });

test("an error has what the API says about it, without other members and credentials", async () => {
  const schemes = { key: { type: "apiKey", in: "header", name: "X-Key" } };
  const document = documentOf({ "GET /a": {} }, { components: { securitySchemes: schemes }, security: [{ key: [] }] });
  await using shop = await openShop(document, { auth: { key: "s3cret-key" } });
  shop.standIn.answer = json(
    { message: "s3cret-key may\u200b not", errors: [{ field: "id" }], trace: "at db.ts", data: [1] },
    403,
  );
  expect(await shop.call("get_a")).toMatchObject({
    code: "function_failed",
    message:
      'The API "shop" answered with status 403. It says: {"message":"[credential] may not","errors":[{"field":"id"}]}',
  });
});

test.each([
  ["text/plain", "No order.", " It says: No order."],
  ["text/html", "<h1>Not found</h1>", ""],
  ["application/json", '{"trace":"x"}', ""],
])("an error of %s", async (type, sent, said) => {
  await using shop = await openShop(WRITES);
  shop.standIn.answer = (_request, response) => void response.writeHead(404, { "content-type": type }).end(sent);
  expect(await shop.call("get_a")).toMatchObject({ message: `The API "shop" answered with status 404.${said}` });
});

test.each([
  ["get_a", 500, "function_failed", 'The API "shop" answered with status 500. Try again later.'],
  ["put_a", 502, "function_failed", 'The API "shop" answered with status 502. Try again later.'],
  ["post_a", 500, "outcome_unknown", expect.any(String)],
  ["post_a", 504, "outcome_unknown", expect.any(String)],
  ["post_a", 503, "function_failed", 'The API "shop" answered with status 503. Try again later.'],
  ["post_a", 429, "function_failed", 'The API "shop" answered with status 429. Try again later.'],
])("after %s with status %i the call ends with %s", async (name, status, code, message) => {
  await using shop = await openShop(WRITES);
  shop.standIn.answer = json({ message: "internal" }, status);
  expect(await shop.call(name)).toMatchObject({ ok: false, code, message });
});

test("an API that is busy says when to try again, and a function with retries does so", async () => {
  await using shop = await openShop(WRITES, { override: { "PUT *": { retries: { max: 3 } } } });
  shop.standIn.answer = json({}, 429, { "retry-after": "7" });
  expect(await shop.call("get_a")).toMatchObject({ message: expect.stringMatching(/Try again after 7 seconds\.$/) });
  expect(await shop.call("put_a")).toMatchObject({ code: "function_failed", retryAfterMs: 7000 });
});

test("an API that cannot be reached was not called, and one that ends the connection may have been", async () => {
  await using shop = await openShop(WRITES, { fetch: (url, init) => fetch(url, init) });
  shop.standIn.answer = (_request, response) => void response.destroy();
  expect(await shop.call("post_a")).toMatchObject({ code: "outcome_unknown" });
  expect(await shop.call("get_a")).toMatchObject({
    code: "function_failed",
    message: expect.stringContaining("cannot be reached"),
  });
  await shop.standIn[Symbol.asyncDispose]();
  expect(await shop.call("post_a")).toMatchObject({
    code: "function_failed",
    message: expect.stringContaining("cannot be reached"),
  });
});

test("a call that ends early ends its request", async () => {
  await using shop = await openShop(WRITES);
  const ended = Promise.withResolvers<void>();
  const cancel = new AbortController();
  shop.standIn.answer = (_request, response) => {
    response.on("close", ended.resolve);
    response.writeHead(200).write("{");
    cancel.abort();
  };
  expect(await shop.call("get_a", {}, { signal: cancel.signal })).toMatchObject({ code: "cancelled" });
  await ended.promise;
  shop.standIn.answer = () => undefined;
  expect(await shop.call("get_a", {}, { timeoutMs: 50 })).toMatchObject({ code: "timed_out" });
});

test("redirects are followed within the server, and only for a request that reads", async () => {
  await using shop = await openShop(WRITES);
  const to = (location: string) => () => {
    shop.standIn.answer = (request, response) =>
      request.url === "/there"
        ? json({ ok: true })(request, response)
        : void response.writeHead(302, { location }).end();
  };
  to("/there")();
  expect(await shop.call("get_a")).toMatchObject({ ok: true });
  const refused = { message: 'The API "shop" redirects the call to another address, which is not followed.' };
  expect(await shop.call("post_a")).toMatchObject(refused);
  to("http://localhost:1/there")();
  expect(await shop.call("get_a")).toMatchObject(refused);
  to("/a")();
  expect(await shop.call("get_a")).toMatchObject(refused);
});

test("an error of the owner's own fetch is one of the connection", async () => {
  await using shop = await openShop(WRITES, { fetch: () => Promise.reject(new OutcomeUnknownError("proxy")) });
  expect(await shop.call("post_a")).toMatchObject({ code: "outcome_unknown" });
});

test("members for some roles are in no other result and no error", async () => {
  await using shop = await openShop(orders(), {
    roles: { "*": ["clerk", "manager"] },
    override: { get: { visibleTo: { "customer.email": ["manager"], "lines[].sku": ["manager"], total: ["clerk"] } } },
  });
  shop.standIn.answer = json({ id: 1, total: 2, lines: [{ sku: "a" }], customer: { name: "Ada", email: "a@b" } });
  expect(await shop.call("get", {}, { role: "clerk" })).toMatchObject({
    value: { id: 1, total: 2, lines: [{}], customer: { name: "Ada" } },
    redacted: ["lines[].sku", "customer.email"],
  });
  expect(await shop.call("get", {}, { role: "manager" })).toMatchObject({
    value: { id: 1, lines: [{ sku: "a" }], customer: { name: "Ada", email: "a@b" } },
  });
  shop.standIn.answer = json({ error: { email: "a@b", reason: "no" } }, 400);
  expect(await shop.call("get", {}, { role: "manager" })).toMatchObject({
    message: expect.stringMatching(/: \{"error":\{"reason":"no"\}\}$/),
  });
});

test("a mark by path is for one place, and not for others with the same schema", async () => {
  const person = { $ref: "#/components/schemas/Person" };
  const schema = { type: "array", items: { type: "object", properties: { buyer: person, seller: person } } };
  const schemas = { Person: { type: "object", properties: { phone: { type: "string" } } } };
  await using shop = await openShop(
    documentOf({ "GET /a": { responses: answering(schema) } }, { components: { schemas } }),
    {
      roles: { "*": ["clerk", "manager"] },
      override: { "GET *": { visibleTo: { "[].buyer.phone": ["manager"] } } },
    },
  );
  shop.standIn.answer = json([{ buyer: { phone: "1" }, seller: { phone: "2" } }]);
  expect(await shop.call("get_a", {}, { role: "clerk" })).toMatchObject({
    value: [{ buyer: {}, seller: { phone: "2" } }],
    redacted: ["[].buyer.phone"],
  });
});
