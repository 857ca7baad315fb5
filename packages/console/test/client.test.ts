import { describe, expect, test } from "vitest";
import { ApiError } from "../src/api/api-error.ts";
import { createClient } from "../src/api/client.ts";

type Answer = Response | Error;

/** A client that receives these responses in turn, and a record of its requests and callbacks. */
function clientOf(answers: Answer[], { confirms = true } = {}) {
  const sent: { url: string; init: RequestInit }[] = [];
  const seen = { signedOut: 0, asked: 0, sent };
  const client = createClient({
    fetch: async (url, init = {}) => {
      sent.push({ url: url as string, init });
      const answer = answers.shift() ?? new Error("no response left");
      if (answer instanceof Error) throw answer;
      return answer;
    },
    onSignedOut: () => (seen.signedOut += 1),
    confirm: async () => {
      seen.asked += 1;
      return confirms;
    },
  });
  return { client, seen };
}

const problem = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}) =>
  Response.json(
    { success: false, errorMessage: "It was refused.", code, requestId: "req_1", ...more },
    { status, headers },
  );

test("a request fills IDs into its path and leaves out unset parameters", async () => {
  const { client, seen } = clientOf([Response.json({ items: [], nextCursor: null })]);

  await client.get("/agents/:agent_id/runs", {
    params: { agentId: "a/b c" },
    query: { status: "failed", role: undefined, q: "", limit: 5 },
  });

  expect(seen.sent[0]?.url).toBe("/api/agents/a%2Fb%20c/runs?status=failed&limit=5");
});

test("a body is sent as JSON", async () => {
  const { client, seen } = clientOf([Response.json({})]);

  await client.post("/agents", { body: { name: "orders" } });

  expect(seen.sent[0]?.init).toMatchObject({
    method: "POST",
    body: '{"name":"orders"}',
    headers: { "content-type": "application/json" },
  });
});

test("a response without content is undefined", async () => {
  const { client } = clientOf([new Response(null, { status: 204 })]);

  expect(await client.delete("/session")).toBeUndefined();
});

test("an error response gives code, request ID, faults and retry time", async () => {
  const details = [{ path: "name", message: "is too long" }];
  const { client } = clientOf([problem(429, "rate_limited", { details }, { "retry-after": "7" })]);

  const error = await client.get("/session").catch((error: unknown) => error);

  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    code: "rate_limited",
    message: "It was refused.",
    status: 429,
    requestId: "req_1",
    details,
    retryAfterSeconds: 7,
  });
});

test("an error response of a proxy has the code 'bad_answer'", async () => {
  const { client } = clientOf([new Response("<h1>Bad gateway</h1>", { status: 502 })]);

  const error = await client.get("/session").catch((error: unknown) => error);

  expect(error).toMatchObject({ code: "bad_answer", status: 502, transient: true });
});

test("a request without a response fails as 'unreachable', with the cause", async () => {
  const cause = new TypeError("Failed to fetch");
  const { client } = clientOf([cause]);

  const error = await client.get("/session").catch((error: unknown) => error);

  expect(error).toMatchObject({ code: "unreachable", status: 0, transient: true, cause });
});

test("an aborted request throws the signal's reason", async () => {
  const { client } = clientOf([new TypeError("aborted")]);
  const reason = new Error("the page is gone");

  await expect(client.get("/session", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

describe("without a session", () => {
  test("a request calls onSignedOut", async () => {
    const { client, seen } = clientOf([problem(401, "authentication_failed")]);

    await expect(client.get("/organisation")).rejects.toMatchObject({ status: 401 });
    expect(seen.signedOut).toBe(1);
  });

  test("a wrong password does not call onSignedOut", async () => {
    const { client, seen } = clientOf([problem(401, "authentication_failed")]);

    await expect(client.post("/session", { body: { email: "a@b.example", password: "no" } })).rejects.toThrow(ApiError);
    expect(seen.signedOut).toBe(0);
  });
});

describe("when the API requires the password again", () => {
  test("the request is repeated after the password is accepted", async () => {
    const { client, seen } = clientOf([problem(403, "confirmation_required"), Response.json({ secret: "s" })]);

    const answer = await client.post("/agents", { body: { name: "orders" } });

    expect(answer).toEqual({ secret: "s" });
    expect(seen.sent.map(({ url }) => url)).toEqual(["/api/agents", "/api/agents"]);
  });

  test("the request fails when the member does not enter it", async () => {
    const { client, seen } = clientOf([problem(403, "confirmation_required")], { confirms: false });

    await expect(client.post("/agents", { body: { name: "orders" } })).rejects.toMatchObject({
      code: "confirmation_required",
    });
    expect(seen.asked).toBe(1);
  });
});

describe("the Idempotency-Key of a POST request", () => {
  const keyOf = ({ init }: { init: RequestInit }) => new Headers(init.headers).get("idempotency-key");
  const post = (client: ReturnType<typeof clientOf>["client"], name = "orders") =>
    client.post("/agents", { body: { name } }).catch((error: unknown) => error);

  test("is another one for each deed, and other methods have none", async () => {
    const { client, seen } = clientOf([Response.json({}), Response.json({}), Response.json({}), Response.json({})]);
    await post(client);
    await post(client);
    await client.open("POST", "/agents/a/playground", { body: { query: "hi" } });
    await client.get("/session");

    const keys = seen.sent.map(keyOf);
    expect(keys.slice(0, 3)).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^[0-9a-f]{32}$/) as string),
    );
    expect(new Set(keys).size).toBe(4);
    expect(keys[3]).toBeNull();
  });

  test("is the same after the password", async () => {
    const { client, seen } = clientOf([problem(403, "confirmation_required"), Response.json({})]);
    await post(client);

    expect(seen.asked).toBe(1);
    expect(keyOf(seen.sent[1]!)).toBe(keyOf(seen.sent[0]!));
  });

  test.each([
    ["no response arrived", new Error("reset")],
    ["the service was unavailable", problem(503, "unavailable")],
  ])("is repeated by the next equal request when %s", async (_what, failure) => {
    const { client, seen } = clientOf([failure, Response.json({}), Response.json({})]);
    await post(client);
    await post(client);
    await post(client);

    const [first, second, third] = seen.sent.map(keyOf);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  test("is a new one for another body, and after a refusal", async () => {
    const { client, seen } = clientOf([new Error("reset"), problem(409, "conflict"), Response.json({})]);
    await post(client);
    await post(client, "bills");
    await post(client, "bills");

    expect(new Set(seen.sent.map(keyOf)).size).toBe(3);
  });
});
