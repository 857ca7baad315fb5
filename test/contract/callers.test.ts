import { defineFunction, defineService } from "@patchbay/functions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ROUTES, type RouteId } from "@patchbay/server/query/routes";
import { startIssuer } from "@patchbay/test-support/issuer";
import type { Script } from "@patchbay/test-support/providers";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

/** Text of Ada that no answer to another caller may contain. */
const SECRET = "IBAN-OF-ADA";

const pay = defineFunction({
  name: "pay",
  description: "Pays to an account.",
  input: z.object({ iban: z.string() }),
  roles: ["clerk"],
  approval: { by: ["caller"] },
  handler: ({ iban }) => ({ paid: iban }),
});
const script: Script = ({ step, query }) =>
  step === 0 && query.includes(`Pay ${SECRET}`)
    ? { calls: [{ name: "pay", arguments: { iban: SECRET } }] }
    : { text: "Done." };

/** The subjects of requests: Ada, whose ids they contain, another caller with the same key and role, and the key without a token. */
const SUBJECTS = ["own subject", "other subject", "no subject"] as const;
type Subject = (typeof SUBJECTS)[number];

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let system: ContractSystem;
let key: string;
let count = 0;

beforeAll(async () => {
  issuer = await startIssuer();
  system = await startContractSystem(script, {
    service: defineService({ name: "desk", functions: [pay] }),
    callers: { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" },
  });
  ({ apiKey: key } = await system.plane.admin.createKey({
    agentId: system.agentId,
    roles: ["clerk"],
    can: ["approve", "check"],
  }));
});

afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const headersOf = async (subject: Subject, access: string) => ({
  "content-type": "application/json",
  ...(access === "access" ? { authorization: `Bearer ${system.accessToken}` } : { "x-api-key": key }),
  ...(subject !== "no subject" && {
    "x-patchbay-caller": await issuer.token({ sub: subject === "own subject" ? "ada" : "eve", role: "clerk" }),
  }),
});

const mcpCall = (iban: string) => ({
  path: "/agents/:agent_id/mcp",
  headers: { accept: "application/json, text/event-stream" },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "pay", arguments: { iban } } },
});

/** A chat of Ada whose run waits for an approval, a thread of hers that is at rest, and a direct call whose outcome she did not get. */
async function begun() {
  const headers = await headersOf("own subject", "api");
  const send = (path: string, body: unknown, more = {}) =>
    system.post(path.replace(":agent_id", system.agentId), body, { ...headers, ...more });
  const chatId = `chat-${++count}-of-ada`;
  const message = { role: "user", parts: [{ type: "text", text: `Pay ${SECRET}` }] };
  const sessionId = `session-${count}`;
  const chat = await send("/agents/:agent_id/ui-stream", { id: chatId, messages: [{ id: "m", ...message }] });
  await chat.body?.cancel();
  const runId = chat.headers.get("X-Run-Id")!;
  await expect.poll(() => statusOf(runId)).toBe("waiting");
  const [approval] = await system.plane.store.approvals.ofRun(runId);
  const asked = await send("/agents/:agent_id/query", { query: `Is it ${SECRET}?`, sessionId });
  const { threadId: restingId, runId: restingRunId } = (await asked.json()) as { threadId: string; runId: string };
  const call = mcpCall(`${SECRET}-${count}`);
  const left = await (await send(call.path, call.body, call.headers)).text();
  const [leftApprovalId = expect.fail(left)] = /apr_[0-9a-f]+/.exec(left) ?? [];
  const { approvalId, threadId } = approval!;
  return { runId, threadId, approvalId, chatId, sessionId, restingId, restingRunId, call, leftApprovalId };
}

type Begun = Awaited<ReturnType<typeof begun>>;

const statusOf = async (runId: string) => (await system.plane.store.runs.facts(system.agentId, runId))?.status;

interface Expected {
  headers?(ids: Begun): Record<string, string>;
  body?(ids: Begun): unknown;
  search?(ids: Begun): string;
  /** The statuses of answers to Ada, to another caller, and to the key without a token. */
  statuses: readonly [own: number, other: number, none: number];
  /** A text that the answers to those who may see it contain, and those to others do not. */
  shows?(ids: Begun): string;
  /** As `shows`, for the key without a token, whose chats are its own. */
  hidesFromKey?: true;
}

const everybody = (status: number): Expected => ({ statuses: [status, status, status] });
const ofRun = (status: number, body?: unknown): Expected => ({ statuses: [status, 404, status], body: () => body });
const decisionIn = ({ chatId, approvalId }: Begun) => ({
  id: chatId,
  messages: [
    {
      id: "m",
      role: "assistant",
      parts: [
        {
          type: "dynamic-tool",
          toolName: "pay",
          toolCallId: "c",
          state: "approval-responded",
          input: {},
          approval: { id: approvalId, approved: true },
        },
      ],
    },
  ],
});

/** What is expected of every route. A route that is added needs its own line. */
const EXPECTED: Record<RouteId, Expected> = {
  listRuns: { ...everybody(200), search: ({ threadId }) => `?threadId=${threadId}`, shows: ({ runId }) => runId },
  // The run has not failed.
  retryRun: ofRun(409),
  query: {
    body: ({ threadId }) => ({ query: "hi", threadId, supersede: true, role: "clerk" }),
    statuses: [200, 400, 200],
  },
  queryStream: {
    body: ({ threadId }) => ({ query: "hi", threadId, supersede: true, role: "clerk" }),
    statuses: [200, 400, 200],
  },
  localQueryStream: {
    body: ({ restingId }) => ({ query: "hi", thread_id: restingId, role: "clerk" }),
    statuses: [200, 400, 200],
  },
  runEvents: { statuses: [200, 404, 200] },
  localRunEvents: { statuses: [200, 404, 200] },
  cancelRun: ofRun(202),
  sendFeedback: ofRun(204, { score: -1 }),
  deleteFeedback: ofRun(204),
  getRun: ofRun(200),
  listThreads: {
    search: ({ sessionId }) => `?sessionId=${sessionId}`,
    statuses: [200, 200, 200],
    shows: ({ restingId }) => restingId,
  },
  getThread: { ...ofRun(200), shows: () => SECRET },
  deleteThread: ofRun(204),
  listApprovals: { ...everybody(200), search: () => "?status=pending", shows: ({ approvalId }) => approvalId },
  getApproval: { ...ofRun(200), shows: () => SECRET },
  decideApproval: ofRun(200, { approved: true, as: "clerk" }),
  listFunctions: { ...everybody(200), search: () => "?role=clerk" },
  checkCall: { ...everybody(200), body: () => ({ role: "clerk", toolName: "pay", parameters: { iban: "1" } }) },
  mcp: {
    headers: ({ call }) => call.headers,
    body: ({ call }) => call.body,
    ...everybody(200),
    shows: ({ leftApprovalId }) => leftApprovalId,
    hidesFromKey: true,
  },
  listModels: everybody(200),
  getModel: everybody(404),
  createChatCompletion: {
    headers: ({ restingId }) => ({ "x-patchbay-thread": restingId }),
    body: () => ({ model: system.agentId, messages: [{ role: "user", content: "hi" }] }),
    statuses: [200, 400, 200],
  },
  createResponse: {
    body: ({ restingRunId }) => ({
      model: system.agentId,
      input: "hi",
      previous_response_id: `resp_${restingRunId}`,
    }),
    statuses: [200, 400, 200],
  },
  uiStream: { body: decisionIn, statuses: [200, 404, 404] },
  resumeUiStream: { statuses: [200, 204, 204] },
  stopUiStream: { statuses: [202, 204, 204] },
  uiMessages: { ...everybody(200), shows: ({ runId }) => runId, hidesFromKey: true },
  createClientToken: { ...everybody(201), body: () => ({ role: "clerk", expiresInSeconds: 60 }) },
  connect: everybody(401),
  healthz: everybody(200),
  readyz: everybody(200),
  metrics: everybody(200),
  resourceMetadata: everybody(404),
  openapi: everybody(200),
};

const CASES = ROUTES.flatMap((route) => SUBJECTS.map((subject) => ({ ...route, subject })));

test.each(CASES)("$method $path with ids of a proven caller, for $subject", async ({ subject, ...route }) => {
  const expected = EXPECTED[route.id];
  const ids = await begun();
  const path = route.path
    .replace(":agent_id", system.agentId)
    .replace(":run_id", ids.runId)
    .replace(":thread_id", ids.restingId)
    .replace(":approval_id", ids.approvalId)
    .replace(":chat_id", ids.chatId);

  const response = await fetch(`${system.url}${path}${expected.search?.(ids) ?? ""}`, {
    method: route.method,
    headers: { ...(await headersOf(subject, route.access)), ...expected.headers?.(ids) },
    ...(route.method === "POST" && { body: JSON.stringify(expected.body?.(ids) ?? {}) }),
  });

  const at = SUBJECTS.indexOf(subject);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  // A stream of a run that waits stays open.
  const text = isStream && route.id !== "mcp" ? await response.body!.cancel().then(() => "") : await response.text();
  expect(response.status, text).toBe(expected.statuses[at]);
  const isHidden = subject === "other subject" || (subject === "no subject" && expected.hidesFromKey === true);
  if (expected.shows && isHidden) expect(text).not.toContain(expected.shows(ids));
  else if (expected.shows) expect(text).toContain(expected.shows(ids));
  if (subject !== "other subject") return;
  if (route.id !== "mcp") expect(text).not.toContain(SECRET);
  expect(await statusOf(ids.runId)).toBe("waiting");
  const left = await system.plane.store.approvals.get(system.agentId, ids.leftApprovalId);
  expect(left).toMatchObject({ status: "pending" });
  expect(await system.plane.store.threads.exists(system.agentId, ids.restingId)).toBe(true);
});
