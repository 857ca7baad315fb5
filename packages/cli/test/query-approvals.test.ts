import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { events, json, startFakeService } from "../../client/test/support/fake-service.ts";
import { runCommand, startCommand } from "./support/command.ts";

const usage = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0 };
const of = { threadId: "thr_1", runId: "run_1", executionTimeMs: 12, toolInteractions: [], usage };
const done = { success: true, response: "Refunded.", errorMessage: "", ...of };
const expiresAt = "2026-11-24T10:00:00.000Z";
const request = (more: object = {}) => ({
  approvalId: "apr_1",
  toolName: "refund",
  parameters: { id: "W1", amount: 200 },
  reason: "Above 100.",
  by: ["caller"],
  expiresAt,
  ...more,
});
const waits = (...approvals: object[]) => ({
  success: false,
  response: "",
  errorMessage: "Waiting for approval",
  code: "approval_required",
  approvals,
  ...of,
});
const approval = { ...request(), edit: ["amount"], role: "clerk", status: "pending" };
const target = (url: string) => ["--url", url, "--agent", "agt_1", "--key", "service_live_x"];
const ask = (url: string, ...more: string[]) =>
  startCommand(["query", "Refund W1", ...more, ...target(url)], { terminal: true });
const bodyOf = (sent: { body: string } | undefined): unknown => JSON.parse(sent?.body ?? "null");

test("query asks in a terminal for the confirmation of a call with its arguments, and prints the answer", async () => {
  await using service = await startFakeService([
    json(200, waits(request())),
    json(200, approval),
    json(200, {}),
    json(200, done),
  ]);
  await using query = ask(service.url);

  await query.seen("Run it as clerk? (y yes, n no, e edit): ");
  query.type("maybe\r");
  await query.seen(/Run it as clerk\?[^]*Run it as clerk\?/);
  query.type("y\r");
  const { code, stdout } = await query.finished;

  expect(code).toBe(0);
  expect(stdout.replaceAll("\r", "")).toContain(
    'refund needs an approval: Above 100.\n  {\n    "id": "W1",\n    "amount": 200\n  }',
  );
  expect(stdout).toContain("Refunded.");
  expect(service.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /agents/agt_1/query",
    "GET /agents/agt_1/approvals/apr_1",
    "POST /agents/agt_1/approvals/apr_1/decision",
    "POST /agents/agt_1/query",
  ]);
  expect(bodyOf(service.requests[2])).toEqual({ approved: true, as: "clerk" });
  const keys = service.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(keys[0]).toBeTruthy();
  expect(keys[3]).toBe(keys[0]);
});

test("query edits the members that may be changed, and shows why a change is refused", async () => {
  const refusal = {
    success: false,
    errorMessage: "Invalid request: arguments.amount",
    code: "invalid_request",
    requestId: "r1",
  };
  await using service = await startFakeService([
    json(200, waits(request())),
    json(200, approval),
    json(400, refusal),
    json(200, {}),
    json(200, done),
  ]);
  await using query = ask(service.url);

  for (const [times, amount] of [
    [1, "lots"],
    [2, "150"],
  ] as const) {
    await query.seen(new RegExp(`(Run it as clerk\\?[^]*){${times}}`));
    query.type("e\r");
    await query.seen(new RegExp(`(amount \\(200; empty keeps it\\): [^]*){${times}}`));
    query.type(`${amount}\r`);
  }
  const { code, stdout } = await query.finished;

  expect(code).toBe(0);
  expect(stdout).toContain("error: Invalid request: arguments.amount");
  expect(bodyOf(service.requests[2])).toEqual({
    approved: true,
    as: "clerk",
    arguments: { id: "W1", amount: "lots" },
  });
  expect(bodyOf(service.requests[3])).toEqual({ approved: true, as: "clerk", arguments: { id: "W1", amount: 150 } });
});

test("query rejects with a reason", async () => {
  await using service = await startFakeService([
    json(200, waits(request())),
    json(200, approval),
    json(200, {}),
    json(200, done),
  ]);
  await using query = ask(service.url);

  await query.seen("Run it as clerk?");
  query.type("n\r");
  await query.seen("Reason, for the model (empty for none): ");
  query.type("Too much.\r");

  expect((await query.finished).code).toBe(0);
  expect(bodyOf(service.requests[2])).toEqual({ approved: false, as: "clerk", reason: "Too much." });
});

test("a question that Ctrl-C ends decides nothing and prints how to decide", async () => {
  await using service = await startFakeService([json(200, waits(request())), json(200, approval)]);
  await using query = ask(service.url);

  await query.seen("Run it as clerk?");
  query.type("\u0003");
  const { code, stdout } = await query.finished;

  expect(code).toBe(1);
  expect(stdout).toContain("patchbay approvals approve apr_1 --as ROLE");
  expect(stdout).toContain("error: Waiting for approval");
  expect(service.requests).toHaveLength(2);
});

test("a reason that Ctrl-C ends rejects nothing and prints how to decide", async () => {
  await using service = await startFakeService([json(200, waits(request())), json(200, approval)]);
  await using query = ask(service.url);

  await query.seen("Run it as clerk?");
  query.type("n\r");
  await query.seen("Reason, for the model (empty for none): ");
  query.type("\u0003");
  const { code, stdout } = await query.finished;

  expect(code).toBe(1);
  expect(stdout).toContain("patchbay approvals approve apr_1 --as ROLE");
  expect(service.requests).toHaveLength(2);
});

test("query does not ask for calls that others approve, nor with a key without the right", async () => {
  const forbidden = { success: false, errorMessage: "Role not allowed", code: "role_not_allowed", requestId: "r1" };
  const others = request({ approvalId: "apr_2", by: ["manager"] });
  await using service = await startFakeService([json(200, waits(request(), others)), json(403, forbidden)]);
  await using query = ask(service.url);

  const { code, stdout } = await query.finished;

  expect(code).toBe(1);
  expect(stdout).not.toContain("Run it as");
  expect(stdout).toContain("This key may not decide: Role not allowed");
  expect(stdout).toContain("patchbay approvals approve apr_2 --as manager");
});

test.each([["--stream"], []])("without a terminal, query %s prints how to decide", async (...more) => {
  const event = { type: "approvalRequest", toolCallId: "call_1", ...request({ by: ["manager"] }) };
  const ended = { type: "error", errorMessage: "Cancelled", code: "cancelled", threadId: "thr_1", runId: "run_1" };
  await using service = await startFakeService([
    more.length > 0 ? events([event, ended]) : json(200, waits(request({ by: ["manager"] }))),
  ]);

  const { code, stdout, stderr } = await runCommand(["query", "Refund W1", ...more, ...target(service.url)]);

  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("refund needs an approval: Above 100.");
  expect(stderr).toContain("patchbay approvals approve apr_1 --as manager (or reject)");
  expect(stderr).toContain(`curl ${service.url}/agents/agt_1/approvals/apr_1/decision -H "X-API-Key: $APPROVER_KEY"`);
});

test("a decision that was made elsewhere ends the question of query --stream", async () => {
  let stream: ServerResponse | undefined;
  const send = (id: number, body: object) => stream?.write(`id: ${id}\ndata: ${JSON.stringify(body)}\n\n`);
  await using service = await startFakeService([
    (response) => {
      stream = response;
      response.writeHead(200, { "Content-Type": "text/event-stream", "X-Run-Id": "run_1" });
      send(1, { type: "approvalRequest", toolCallId: "call_1", ...request() });
    },
    json(200, approval),
  ]);
  await using query = ask(service.url, "--stream");

  await query.seen("Run it as clerk?");
  send(2, { type: "approvalDecision", approvalId: "apr_1", toolCallId: "call_1", decision: "rejected", reason: "No." });
  send(3, { type: "finalResponse", response: "It was rejected.", ...of });
  const { code, stdout } = await query.finished;

  expect(code).toBe(0);
  expect(stdout).toContain("rejected: No.");
  expect(stdout).toContain("It was rejected.");
  expect(stdout).not.toContain("patchbay approvals");
});

test("query waits for a detached function with its progress, and prints the answer", async () => {
  const running = (progress?: object) => ({
    success: false,
    response: "",
    errorMessage: "Waiting for a function",
    code: "call_running",
    calls: [{ toolCallId: "call_1", toolName: "export", startedAt: "2026-11-24T10:00:00.000Z", progress }],
    ...of,
  });
  await using service = await startFakeService([
    json(200, running()),
    json(200, running({ percent: 40 })),
    json(200, done),
  ]);

  const { code, stdout, stderr } = await runCommand(["query", "Export", ...target(service.url)]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: "Refunded.\n" });
  expect(stderr).toContain(
    'waiting for export, which runs since 2026-11-24T10:00:00.000Z\n· waiting for export, which runs since 2026-11-24T10:00:00.000Z: {"percent":40}\n',
  );
  expect(service.requests.map(({ headers }) => headers["prefer"])).toEqual([undefined, "wait=60", "wait=60"]);
  expect(new Set(service.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("Ctrl-C while query waits for a detached function says that the run continues", async () => {
  const calls = [{ toolCallId: "call_1", toolName: "export", startedAt: expiresAt }];
  const running = { ...waits(), approvals: undefined, code: "call_running", calls };
  await using service = await startFakeService([json(200, running), () => {}]);
  await using query = ask(service.url);

  await query.seen("waiting for export");
  query.type("\u0003");
  const { code, stdout } = await query.finished;

  expect(code).toBe(1);
  expect(stdout).toContain(
    "The query continues on the service as run_1; POST /agents/AGENT/runs/run_1/cancel ends it.",
  );
});
