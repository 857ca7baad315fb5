import { describe, expect, test } from "vitest";
import { ApiError } from "../src/api/api-error.ts";
import { createClient } from "../src/api/client.ts";

type Answer = Response | Error;

/** A client whose service gives these answers in turn, and what became of it. */
function clientOf(answers: Answer[], { confirms = true } = {}) {
  const sent: { url: string; init: RequestInit }[] = [];
  const seen = { signedOut: 0, asked: 0, sent };
  const client = createClient({
    fetch: async (url, init = {}) => {
      sent.push({ url: url as string, init });
      const answer = answers.shift() ?? new Error("no answer is left");
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

test("a request fills ids into its path and leaves out what is not set", async () => {
  const { client, seen } = clientOf([Response.json({ items: [], nextCursor: null })]);

  await client.get("/agents/:agent_id/runs", {
    params: { agent_id: "a/b c" },
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

test("an answer without content is undefined", async () => {
  const { client } = clientOf([new Response(null, { status: 204 })]);

  expect(await client.delete("/session")).toBeUndefined();
});

test("a refusal tells code, request id, faults and when to come back", async () => {
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

test("a refusal that is not of the service is told apart", async () => {
  const { client } = clientOf([new Response("<h1>Bad gateway</h1>", { status: 502 })]);

  const error = await client.get("/session").catch((error: unknown) => error);

  expect(error).toMatchObject({ code: "bad_answer", status: 502, passing: true });
});

test("no answer at all is 'unreachable', with the cause", async () => {
  const cause = new TypeError("Failed to fetch");
  const { client } = clientOf([cause]);

  const error = await client.get("/session").catch((error: unknown) => error);

  expect(error).toMatchObject({ code: "unreachable", status: 0, passing: true, cause });
});

test("an aborted request throws the signal's reason", async () => {
  const { client } = clientOf([new TypeError("aborted")]);
  const reason = new Error("the page is gone");

  await expect(client.get("/session", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

describe("without a session", () => {
  test("the page is told", async () => {
    const { client, seen } = clientOf([problem(401, "authentication_failed")]);

    await expect(client.get("/organisation")).rejects.toMatchObject({ status: 401 });
    expect(seen.signedOut).toBe(1);
  });

  test("a wrong password says nothing of the session", async () => {
    const { client, seen } = clientOf([problem(401, "authentication_failed")]);

    await expect(client.post("/session", { body: { email: "a@b.example", password: "no" } })).rejects.toThrow(ApiError);
    expect(seen.signedOut).toBe(0);
  });
});

describe("when the password is wanted again", () => {
  test("the request is repeated once it was given", async () => {
    const { client, seen } = clientOf([problem(403, "confirmation_required"), Response.json({ secret: "s" })]);

    const answer = await client.post("/agents", { body: { name: "orders" } });

    expect(answer).toEqual({ secret: "s" });
    expect(seen.sent.map(({ url }) => url)).toEqual(["/api/agents", "/api/agents"]);
  });

  test("the refusal stands where it was not given", async () => {
    const { client, seen } = clientOf([problem(403, "confirmation_required")], { confirms: false });

    await expect(client.post("/agents", { body: { name: "orders" } })).rejects.toMatchObject({
      code: "confirmation_required",
    });
    expect(seen.asked).toBe(1);
  });
});
