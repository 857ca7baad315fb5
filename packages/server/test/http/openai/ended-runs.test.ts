import OpenAI, { APIError, InternalServerError } from "openai";
import { expect, test } from "vitest";
import type { RunErrorCode } from "@patchbay/protocol";
import { answerOf, type FakeRun } from "../support/fake-runs.ts";
import { API_KEY, startHttp } from "../support/start-http.ts";

const BASE = "/agents/agent-1/v1";
const asked = { model: "agent-1", messages: [{ role: "user" as const, content: "Hi" }] };
const streamed = { ...asked, stream: true as const };

/** An agent whose runs end with an error. */
async function start(code: RunErrorCode) {
  const http = await startHttp();
  http.runs.onBegin = (run: FakeRun) => {
    const { runId, threadId } = run.handle;
    const errorMessage = `It ended with ${code}.`;
    run.end(
      { ...answerOf(run).result, success: false, response: "", errorMessage, code },
      { type: "error", errorMessage, code, runId, threadId },
    );
  };
  const client = new OpenAI({ baseURL: http.url + BASE, apiKey: API_KEY, maxRetries: 2 });
  return { ...http, client, ask: () => http.post(`${BASE}/chat/completions`, asked) };
}

/** The list of the contract. */
const statuses: [code: RunErrorCode, status: number, known?: string][] = [
  ["provider_error", 502],
  ["provider_not_configured", 503],
  ["deadline_exceeded", 504],
  ["thread_busy", 409],
  ["approval_required", 409],
  ["cancelled", 409],
  ["insufficient_credits", 429, "insufficient_quota"],
  ["budget_exceeded", 429, "insufficient_quota"],
  ["agent_session_not_found", 500],
  ["step_limit", 500],
  ["output_invalid", 500],
  ["crash_loop", 500],
  ["internal", 500],
];

test.each(statuses)("a run that ends with %s has the status %i, and is not repeated", async (code, status, known) => {
  await using http = await start(code);

  const response = await http.ask();

  expect([response.status, response.headers.get("x-should-retry")]).toEqual([status, "false"]);
  expect(await response.json()).toMatchObject({
    error: { code: known ?? code, message: `It ended with ${code}.`, param: null },
  });
  expect(response.headers.get("x-run-id")).toBe(http.runs.runs.keys().next().value);
});

test.each([
  ["output_limit", "length", ""],
  ["model_refused", "content_filter", "It ended with model_refused."],
  ["refused", "content_filter", "It ended with refused."],
] as const)("a run that ends with %s is an answer that finishes with %s", async (code, reason, content) => {
  await using http = await start(code);

  const response = await http.ask();

  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ choices: [{ finish_reason: reason, message: { content } }] });
});

test("OpenAI's client throws its own error, and does not repeat the request", async () => {
  await using http = await start("provider_error");

  const error = await http.client.chat.completions.create(asked).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(InternalServerError);
  expect(error).toMatchObject({ status: 502, code: "provider_error", type: "server_error" });
  expect(http.runs.starts).toHaveLength(1);
});

test("OpenAI's client throws the error of a stream", async () => {
  await using http = await start("provider_error");
  const read = async () => {
    for await (const _ of await http.client.chat.completions.create(streamed));
  };

  const error = await read().catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ code: "provider_error", message: "It ended with provider_error." });
});

test.each([
  ["provider_error", "provider_error"],
  ["output_limit", undefined],
  ["refused", undefined],
] as const)("a stream that ends with %s has its usage before the end, if it was asked for", async (code, thrown) => {
  await using http = await start(code);
  const body = { ...streamed, stream_options: { include_usage: true } };
  const usages: unknown[] = [];
  const read = async () => {
    for await (const { usage } of await http.client.chat.completions.create(body)) usages.push(usage);
  };

  const error = await read().catch((reason: unknown) => reason);

  expect(error).toEqual(thrown && expect.objectContaining({ code: thrown }));
  expect(usages.at(-1)).toMatchObject({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 });
  expect(usages.slice(0, -1).filter((usage) => usage !== null)).toEqual([]);
});
