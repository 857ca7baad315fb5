import type { Approval } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { parseUiRequest } from "../../../src/query/ui-stream/request.ts";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { API_KEY, startHttp } from "../support/start-http.ts";

const PATH = "/agents/agent-1/ui-stream";

const user = (text: unknown) => ({ id: "m", role: "user", parts: [{ type: "text", text }] });

test.each([
  ["no messages", { id: "c", messages: [] }, 400, "messages"],
  ["no chat", { messages: [user("hi")] }, 400, "id"],
  ["a long id", { id: "c".repeat(201), messages: [user("hi")] }, 400, "id"],
  ["an empty text", { id: "c", messages: [user(" ")] }, 400, "messages.0.parts"],
  ["a long text", { id: "c", messages: [user("x".repeat(100_001))] }, 400, "messages.0.parts"],
  ["an answer", { id: "c", messages: [{ ...user("hi"), role: "assistant" }] }, 400, "messages.0"],
  ["a system text", { id: "c", messages: [{ ...user("hi"), role: "system" }] }, 400, "messages.0"],
  [
    "a decision without a value",
    { id: "c", messages: [{ role: "assistant", parts: [{ type: "x", state: "approval-responded", approval: {} }] }] },
    400,
    "messages.0.parts.0.approval.id",
  ],
  ["more than 4 MiB", { id: "c", messages: [user("x".repeat(4_194_304))] }, 413, undefined],
] as const)("a body with %s is refused", async (_, body, status, path) => {
  await using http = await startHttp();

  const answer = await http.post(PATH, body);

  expect(answer.status).toBe(status);
  const { details } = (await answer.json()) as { details?: { path: string }[] };
  expect(details?.[0]?.path).toBe(path);
  expect(http.runs.starts).toEqual([]);
});

const decides = (...ids: string[]) => ({
  id: "c",
  messages: [
    {
      role: "assistant",
      parts: ids.map((id, i) => ({ type: "x", state: "approval-responded", approval: { id, approved: i > 0 } })),
    },
  ],
});

test("a message decides on at most 100 approvals", async () => {
  await using http = await startHttp();

  const answer = await http.post(PATH, decides(...Array.from({ length: 101 }, (_, i) => `apr_${i}`)));

  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ details: [{ path: "messages.0.parts" }] });
});

test("a message with an approval that its caller may not decide decides nothing", async () => {
  const asked: string[] = [];
  const unused = () => Promise.reject(new Error("not used here"));
  await using http = await startHttp({
    threads: { list: unused, get: unused, ofKey: async () => "thr_1" },
    approvals: {
      requireRight() {},
      list: unused,
      get: unused,
      async decidable(_principal, approvalId) {
        asked.push(approvalId);
        if (approvalId === "apr_2") throw new ServiceError("role_not_allowed", "not yours");
        return { threadId: "thr_1", runId: "run_1" } as Approval;
      },
      async decide(_principal, approvalId) {
        asked.push(`decided ${approvalId}`);
        return { threadId: "thr_1", runId: "run_1" } as Approval;
      },
    },
  });

  const answer = await http.post(PATH, decides("apr_1", "apr_2"), { "X-Patchbay-Role": "clerk" });

  expect(answer.status).toBe(403);
  expect(asked).toEqual(["apr_1", "apr_2"]);
});

test("of several decisions on one approval the last counts", () => {
  expect(parseUiRequest(decides(...Array.from({ length: 101 }, () => "apr_1")))).toEqual({
    chatId: "c",
    kind: "decisions",
    decisions: [{ id: "apr_1", approved: true }],
  });
});

test("a message of 3 MiB with earlier messages is accepted, and only its last text is the query", async () => {
  await using http = await startHttp();
  const messages = [user("x".repeat(3_145_728)), user(" hi ")];

  const answer = await http.post(PATH, { id: "c", messages, role: "boss", contextJson: "{}", threadId: "thr_1" });

  expect(answer.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  expect(await answer.text()).toMatch(/^data: \{"type":"start".*"finish-step".*\ndata: \[DONE\]\n\n$/s);
  expect(http.runs.starts.map(({ query }) => query)).toEqual([
    expect.objectContaining({ query: "hi", externalThread: { scope: `id-of-${API_KEY}`, id: "c" } }),
  ]);
  expect(http.runs.starts[0]?.query).not.toHaveProperty("role");
  expect(http.counts).toEqual(["ui-stream accepted"]);
});

test("a stream that ends before its run is cut, so that the client resumes it", async () => {
  await using http = await startHttp();
  http.runs.onBegin = (run) => run.drain();

  const answer = http.post(PATH, { id: "c", messages: [user("hi")] });

  await expect(answer.then((one) => one.text())).rejects.toThrow(TypeError);
});

test("the requests that begin no query have a limit of their own", async () => {
  const spent = { allowed: false, limit: 600, remaining: 0, resetSeconds: 30 };
  await using http = await startHttp({ adapterLimit: async () => spent });

  for (const [method, path] of [
    ["GET", "stream"],
    ["POST", "stop"],
    ["GET", "messages"],
  ] as const) {
    const headers = { "X-API-Key": API_KEY };
    const answer = await fetch(`${http.url}${PATH}/c/${path}`, { method, headers });
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "30"]);
  }
  expect((await http.post(PATH, { id: "c", messages: [user("hi")] })).status).toBe(200);
});
