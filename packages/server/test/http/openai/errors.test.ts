import { expect, test } from "vitest";
import { startHttp } from "../support/start-http.ts";

const BASE = "/agents/agent-1/v1";
const messages = [{ role: "user", content: "Hi" }];

test("an error names the member that the client has sent", async () => {
  await using http = await startHttp();

  for (const member of ["max_tokens", "max_completion_tokens"]) {
    const response = await http.post(`${BASE}/chat/completions`, { model: "agent-1", messages, [member]: -1 });
    expect(await response.json()).toMatchObject({ error: { param: member } });
  }
});

test.each([
  ["POST", "/embeddings", 404, "not_found"],
  ["GET", "/responses/resp_1", 404, "not_found"],
  ["GET", "", 404, "not_found"],
  ["GET", "/chat/completions", 405, "method_not_allowed"],
  ["DELETE", "/models/agent-1", 405, "method_not_allowed"],
])("the error for %s %s has OpenAI's form", async (method, path, status, code) => {
  await using http = await startHttp();

  const response = await fetch(http.url + BASE + path, { method });

  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({
    error: { message: expect.any(String), type: "invalid_request_error", param: null, code },
  });
});
