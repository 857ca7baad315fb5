import type { CALLERS } from "@patchbay/protocol";
import type { RouteId } from "@patchbay/server/query/routes";

/**
 * What requests are sent with, in the order of the statuses below. `other role`: a header names a role that the pinned
 * key or the token does not have.
 */
export const CREDENTIALS = [
  "nothing",
  "key",
  "pinned",
  "pinned, other role",
  "key and token",
  "key and token, other role",
  "token",
  "token, other role",
  "expired token",
  "token without bearer",
  "client token",
  "access token",
  "access token and token, other role",
  "service token",
] as const;
export type CredentialName = (typeof CREDENTIALS)[number];

type Statuses = Record<(typeof CALLERS)[number], string>;

/** A route for keys. `status`: the answer to those who may use it. `keyless`: to a token without a key. */
const forKeys = (status: number, keyless = status): Statuses => ({
  optional: `401 ${status} ${status} 403 ${status} 403 401 401 401 401 401 401 401 401`,
  required: `401 401 401 401 ${status} 403 401 401 401 401 401 401 401 401`,
  keyless: `401 ${status} ${status} 403 ${status} 403 ${keyless} 403 401 401 401 401 401 401`,
});

/** A route for keys and client tokens. */
const forPages = (status: number): Statuses => ({
  optional: `401 ${status} ${status} 403 ${status} 403 401 401 401 401 ${status} 401 401 401`,
  required: `401 401 401 401 ${status} 403 401 401 401 401 401 401 401 401`,
  keyless: `401 ${status} ${status} 403 ${status} 403 ${status} 403 401 401 ${status} 401 401 401`,
});

/** A route of the local variant. */
const forAccess = (status: number): Statuses => ({
  optional: `401 401 401 401 401 401 401 401 401 401 401 ${status} 403 401`,
  required: "401 401 401 401 401 401 401 401 401 401 401 401 403 401",
  keyless: `401 401 401 401 401 401 401 401 401 401 401 ${status} 403 401`,
});

const always = (status: number, keyless = status): Statuses => {
  const statuses = CREDENTIALS.map(() => status).join(" ");
  return { optional: statuses, required: statuses, keyless: CREDENTIALS.map(() => keyless).join(" ") };
};

/** The answers of every route, where its run, thread, approval and chat are unknown and no service is connected. */
export const EXPECTED: Record<RouteId, Statuses> = {
  query: forKeys(200),
  queryStream: forKeys(200),
  localQueryStream: forAccess(200),
  runEvents: forKeys(404),
  localRunEvents: forAccess(404),
  cancelRun: forKeys(404),
  sendFeedback: forKeys(404),
  deleteFeedback: forKeys(404),
  getRun: forKeys(404),
  listRuns: forKeys(200),
  retryRun: forKeys(404),
  listThreads: forKeys(200),
  getThread: forKeys(404),
  deleteThread: forKeys(404),
  listApprovals: forKeys(200),
  getApproval: forKeys(404),
  decideApproval: forKeys(404),
  // Only keys have the right to check calls.
  listFunctions: forKeys(200, 403),
  checkCall: forKeys(200, 403),
  mcp: forPages(200),
  listModels: forKeys(200),
  getModel: forKeys(404),
  // A run that fails has no form with the status 200 in OpenAI's API.
  createChatCompletion: forKeys(500),
  createResponse: forKeys(500),
  uiStream: forPages(200),
  resumeUiStream: forPages(204),
  stopUiStream: forPages(204),
  uiMessages: forPages(200),
  createClientToken: forKeys(201),
  connect: always(401),
  healthz: always(200),
  readyz: always(200),
  metrics: always(200),
  resourceMetadata: always(404, 200),
  openapi: always(200),
};
