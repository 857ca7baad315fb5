import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { events, json, startFakeService } from "../../client/test/support/fake-service.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

const usage = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0 };
const answer = {
  success: true,
  response: "Two orders are late.",
  threadId: "thr_1",
  executionTimeMs: 12,
  toolInteractions: [],
  errorMessage: "",
  runId: "run_1",
  usage,
};
const final = {
  type: "finalResponse",
  response: "Two orders are late.",
  threadId: "thr_1",
  runId: "run_1",
  executionTimeMs: 12,
  toolInteractions: [],
  usage,
};
const target = (url: string) => ["--url", url, "--agent", "agt_1", "--key", "service_live_x"];

test("query prints the answer on stdout and how to continue on stderr", async () => {
  await using service = await startFakeService([json(200, answer)]);

  const done = await runCommand([
    "query",
    "Which are late?",
    "--role",
    "manager",
    "--context",
    '{"a":1}',
    ...target(service.url),
  ]);

  expect(done).toMatchObject({ code: 0, stdout: "Two orders are late.\n" });
  expect(done.stderr).toContain("--thread thr_1");
  expect(service.requests[0]).toMatchObject({
    method: "POST",
    path: "/agents/agt_1/query",
    headers: { "x-api-key": "service_live_x" },
  });
  expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual({
    query: "Which are late?",
    role: "manager",
    contextJson: '{"a":1}',
  });
});

test("query --json prints exactly the service's response object", async () => {
  await using service = await startFakeService([json(200, answer)]);

  const done = await runCommand(["query", "Which?", "--json", ...target(service.url)]);

  expect(JSON.parse(done.stdout)).toEqual(answer);
});

test("query exits 1 with the errorMessage when success is false", async () => {
  const failed = {
    ...answer,
    success: false,
    response: "",
    errorMessage: "Insufficient credits",
    code: "insufficient_credits",
  };
  await using service = await startFakeService([json(200, failed)]);

  const done = await runCommand(["query", "Which?", ...target(service.url)]);

  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain("error: Insufficient credits");
  expect(done.stderr).toContain(" ms · run run_1 · to continue: --thread thr_1");
});

test("query exits 1 with the faults of a refused request, and --json prints its body", async () => {
  const body = {
    success: false,
    errorMessage: "Invalid request",
    code: "invalid_request",
    requestId: "r1",
    details: [{ path: "role", message: "is too long" }],
  };
  await using service = await startFakeService([json(400, body)]);

  const done = await runCommand(["query", "Which?", "--json", ...target(service.url)]);

  expect(done).toMatchObject({ code: 1, stderr: "error: Invalid request (role: is too long) [request r1]\n" });
  expect(JSON.parse(done.stdout)).toEqual(body);
});

test("query retries with the same Idempotency-Key after a 503", async () => {
  await using service = await startFakeService([json(503, {}, { "Retry-After": "0" }), json(200, answer)]);

  const done = await runCommand(["query", "Which?", ...target(service.url)]);

  expect(done.code).toBe(0);
  const keys = service.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(keys[0]).toBeTruthy();
  expect(keys[1]).toBe(keys[0]);
});

test("query --stream shows progress on stderr and the answer on stdout", async () => {
  const call = { type: "toolCall", toolName: "list_orders", toolCallId: "c1", parameters: { late: true } };
  const result = { type: "toolResult", toolName: "list_orders", toolCallId: "c1", success: true, result: [1, 2] };
  const status = { type: "modelStatus", state: "retrying", attempt: 4, waitMs: 1_500 };
  const run = [{ type: "thought", content: "Look." }, call, result, status, final];
  await using service = await startFakeService([events(run)]);

  const done = await runCommand(["query", "Which?", "--stream", ...target(service.url)]);

  expect(done).toMatchObject({ code: 0, stdout: "Two orders are late.\n" });
  expect(done.stderr).toContain('· Look.\n→ list_orders {"late":true}\n✓ list_orders [1,2]\n');
  expect(done.stderr).toContain("· The model did not answer. Asking again in 2 s (attempt 4)\n");
});

test("query --stream resumes a broken stream", async () => {
  const thoughts = ["one", "two", "three"].map((content) => ({ type: "thought", content }));
  await using service = await startFakeService([
    events(thoughts.slice(0, 2), { cut: true }),
    events([...thoughts.slice(2), final], { from: 3 }),
  ]);

  const done = await runCommand(["query", "Which?", "--stream", "--json", ...target(service.url)]);

  expect(service.requests[1]).toMatchObject({
    method: "GET",
    path: "/agents/agt_1/runs/run_1/events",
    headers: { "last-event-id": "2" },
  });
  expect(done.stderr).toContain("· one\n· two\n· three\n");
  expect(JSON.parse(done.stdout)).toEqual(answer);
});

test("query --stream --json prints a failed run with its calls, and exits 1", async () => {
  const call = { type: "toolCall", toolName: "refund", toolCallId: "c1", parameters: { id: 1 } };
  const result = {
    type: "toolResult",
    toolName: "refund",
    toolCallId: "c1",
    success: false,
    errorMessage: "no",
    code: "function_failed",
    parameters: { id: 1, copies: 1 },
  };
  const error = {
    type: "error",
    errorMessage: "Run timed out",
    code: "deadline_exceeded",
    threadId: "thr_1",
    runId: "run_1",
  };
  await using service = await startFakeService([events([call, result, error])]);

  const done = await runCommand(["query", "Refund", "--stream", "--json", ...target(service.url)]);

  expect(done.code).toBe(1);
  expect(JSON.parse(done.stdout)).toMatchObject({
    success: false,
    response: "",
    errorMessage: "Run timed out",
    code: "deadline_exceeded",
    toolInteractions: [
      {
        toolName: "refund",
        parameters: { id: 1, copies: 1 },
        success: false,
        errorMessage: "no",
        code: "function_failed",
      },
    ],
  });
});

test("query names a fix when nothing answers at the address", async () => {
  const gone = await startFakeService([]);
  await gone[Symbol.asyncDispose]();

  const done = await runCommand(["query", "Which?", ...target(gone.url)]);

  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toMatch(/does not answer: .*ECONNREFUSED.*Is the service running there/);
});

test("query without a target uses the service that dev started on the data folder", async () => {
  await using service = await startFakeService([json(200, answer)]);
  await using folder = await temporaryFolder();
  const kept = {
    orgId: "o",
    agentId: "agt_dev",
    apiKey: "service_live_dev",
    runtimeKey: "r",
    accessToken: "t",
    baseUrl: service.url,
  };
  await writeFile(join(folder.path, "dev-credentials.json"), JSON.stringify(kept));

  await runCommand(["query", "Which?", "--data-dir", folder.path]);

  expect(service.requests[0]).toMatchObject({
    path: "/agents/agt_dev/query",
    headers: { "x-api-key": "service_live_dev" },
  });
});

test("query never sends the development key to another service", async () => {
  await using dev = await startFakeService([json(200, answer), json(200, answer)]);
  await using other = await startFakeService([]);
  await using folder = await temporaryFolder();
  const kept = { agentId: "agt_dev", apiKey: "service_live_dev", baseUrl: dev.url };
  await writeFile(join(folder.path, "dev-credentials.json"), JSON.stringify(kept));
  const ask = (url: string, ...more: string[]) =>
    runCommand(["query", "Which?", "--data-dir", folder.path, "--url", url, ...more]);

  const refused = await ask(other.url, "--agent", "agt_1");

  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`Missing --key: the credentials in ${folder.path} are for ${dev.url} only.`);
  expect(other.requests).toEqual([]);
  expect((await ask(dev.url)).code).toBe(0);
  expect((await ask(dev.url.replace("127.0.0.1", "localhost"))).code).toBe(0);
  expect(dev.requests.map(({ headers }) => headers["x-api-key"])).toEqual(["service_live_dev", "service_live_dev"]);
});

test("Ctrl-C in query --stream prints that the query continues, and its run id", async () => {
  await using service = await startFakeService([
    (response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream", "X-Run-Id": "run_1" });
      response.write('id: 1\ndata: {"type":"thought","content":"Looking."}\n\n');
    },
  ]);
  await using query = startCommand(["query", "Which?", "--stream", ...target(service.url)]);
  await query.seen("Looking.");
  query.process.kill("SIGINT");

  const { code, stdout, stderr } = await query.finished;

  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(
    "The query continues on the service as run_1; POST /agents/AGENT/runs/run_1/cancel ends it.",
  );
});

test("query over plain HTTP to another machine warns once", async () => {
  await using service = await startFakeService([json(200, answer), json(200, answer)]);
  const remote = service.url.replace("127.0.0.1", "0.0.0.0");

  const [near, far] = [
    await runCommand(["query", "Which?", ...target(service.url)]),
    await runCommand(["query", "Which?", ...target(remote)]),
  ];

  expect([near.code, far.code]).toEqual([0, 0]);
  expect(near.stderr).not.toContain("not encrypted");
  expect(far.stderr.match(new RegExp(`warning ${remote} is not encrypted`, "g"))).toHaveLength(1);
});

test("query reports a server that does not speak TLS", async () => {
  await using service = await startFakeService([]);
  const url = service.url.replace("http:", "https:");

  const { code, stderr } = await runCommand(["query", "Which?", ...target(url)]);

  expect(code).toBe(1);
  expect(stderr).toBe(`error: The server at ${url} does not speak TLS. Use http://, or the server's https address.\n`);
});

test("options come from PATCHBAY_ variables and from .env, and the real environment wins", async () => {
  await using service = await startFakeService([json(200, answer)]);
  await using folder = await temporaryFolder();
  await writeFile(
    join(folder.path, ".env"),
    `PATCHBAY_URL=${service.url}\nPATCHBAY_AGENT=from_file\nPATCHBAY_API_KEY=k\nPATCHBAY_ROLE=x\n`,
  );

  const env = { PATCHBAY_AGENT: "from_environment", PATCHBAY_ROLE: "", PATCHBAY_STREAM: "false", PATCHBAY_JSON: "1" };
  const done = await runCommand(["query", "Which?"], { cwd: folder.path, env });

  expect(JSON.parse(done.stdout)).toEqual(answer);
  expect(service.requests[0]?.path).toBe("/agents/from_environment/query");
  expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual({ query: "Which?" });
});
