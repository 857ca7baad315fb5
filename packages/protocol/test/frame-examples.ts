import { LIMITS } from "../src/index.ts";
import { type JsonObject } from "@patchbay/kit";

/** A valid frame with every property, and its limits. Paths have dots, such as `outcome.value`. */
export interface FrameExample {
  name: string;
  sender: "runtime" | "control plane";
  frame: JsonObject;
  optional?: string[];
  /** Properties with any JSON value, or any JSON object if the example has an object. */
  json?: string[];
  /** Least and most characters; `Infinity` without a limit. */
  texts?: Record<string, [least: number, most: number]>;
  /** Least and greatest value of integers. */
  numbers?: Record<string, [least: number, greatest: number]>;
  /** Most items. */
  lists?: Record<string, number>;
}

const ID: [number, number] = [1, 128];
const POSITIVE: [number, number] = [1, Number.MAX_SAFE_INTEGER];
const NOT_NEGATIVE: [number, number] = [0, Number.MAX_SAFE_INTEGER];

const fn = {
  name: "get_order",
  description: "Gets an order.",
  inputSchema: { type: "object" },
  keepsUnlisted: true,
  roles: ["support"],
  conditional: true,
  effect: "read",
  idempotent: true,
  timeoutMs: 60_000,
  restrictedFields: ["cost"],
  redactions: [{ path: "orders[].cost", roles: ["manager"] }],
  outputSchema: { type: "object" },
};

const manifest = {
  name: "shop",
  roles: ["support", "manager"],
  defaultRole: "support",
  instructions: "Be brief.",
  preparesContext: true,
  checksContext: true,
  namesSubject: true,
  beforeQuery: true,
  beforeAnswer: true,
  exampleQueries: [{ query: "Where is order 1?", role: "support", context: { customerId: "c-1" } }],
  functions: [fn],
};

const OPTIONAL_OF_FUNCTION = ["keepsUnlisted", "restrictedFields", "redactions", "outputSchema"];
const OPTIONAL_OF_MANIFEST = [
  "roles",
  "defaultRole",
  "instructions",
  "checksContext",
  "namesSubject",
  "beforeQuery",
  "beforeAnswer",
  "exampleQueries",
  "exampleQueries.0.role",
  "exampleQueries.0.context",
  ...OPTIONAL_OF_FUNCTION.map((name) => `functions.0.${name}`),
];

const query = { role: "support", context: { customerId: "c-1" } };

const fromRuntime: Omit<FrameExample, "sender">[] = [
  {
    name: "hello",
    frame: { type: "hello", version: 1, instanceId: "i-1", manifest, deployment: "v1", concurrency: 16, sdk: "sdk/1" },
    optional: ["deployment", ...OPTIONAL_OF_MANIFEST.map((path) => `manifest.${path}`)],
    json: [
      "manifest.exampleQueries.0.context",
      "manifest.functions.0.inputSchema",
      "manifest.functions.0.outputSchema",
    ],
    texts: {
      instanceId: ID,
      deployment: [1, LIMITS.deploymentUnits],
      sdk: [0, 100],
      "manifest.name": [1, LIMITS.labelUnits],
      "manifest.exampleQueries.0.query": [1, LIMITS.exampleQueryUnits],
      "manifest.exampleQueries.0.role": [1, LIMITS.labelUnits],
      "manifest.functions.0.name": [1, 64],
      "manifest.functions.0.roles.0": [1, LIMITS.labelUnits],
    },
    numbers: { concurrency: [1, 10_000], "manifest.functions.0.timeoutMs": [1, LIMITS.detachedTimeoutMaxMs] },
    lists: {
      "manifest.functions": LIMITS.functionsPerService,
      "manifest.exampleQueries": LIMITS.exampleQueriesPerService,
    },
  },
  {
    name: "result with a value",
    frame: {
      type: "result",
      callId: "c-1",
      attempt: 1,
      outcome: { ok: true, value: 1, redacted: ["orders[].cost"], input: 1 },
    },
    optional: ["outcome.redacted", "outcome.input"],
    json: ["outcome.value", "outcome.input"],
    texts: { callId: ID },
    numbers: { attempt: POSITIVE },
  },
  {
    name: "result with a failure",
    frame: {
      type: "result",
      callId: "c-1",
      attempt: 1,
      outcome: { ok: false, code: "denied", message: "Not permitted.", rule: "authorize", input: 1 },
    },
    optional: ["outcome.rule", "outcome.input"],
    json: ["outcome.input"],
  },
  { name: "progress", frame: { type: "progress", callId: "c-1", data: 1 }, json: ["data"], texts: { callId: ID } },
  {
    name: "callState",
    frame: { type: "callState", callId: "c-1", attempt: 1, state: "running" },
    optional: ["attempt"],
    texts: { callId: ID },
    numbers: { attempt: POSITIVE },
  },
  {
    name: "prepared",
    frame: { type: "prepared", id: "p-1", prepared: { ok: true, subject: "c-1", modelContext: 1 } },
    optional: ["prepared.subject", "prepared.modelContext"],
    json: ["prepared.modelContext"],
    texts: { id: ID },
  },
  {
    name: "prepared with faults",
    frame: {
      type: "prepared",
      id: "p-1",
      prepared: { ok: false, faults: [{ path: "contextJson.a", message: "is required" }] },
    },
  },
  ...[
    { verdict: "passed" },
    { verdict: "replaced", text: "" },
    { verdict: "refused", text: "No." },
    { verdict: "failed", reference: "r-1" },
  ].map((result) => ({
    name: `hookResult ${result.verdict}`,
    frame: { type: "hookResult", id: "h-1", result },
    texts: {
      id: ID,
      ...(result.verdict === "refused" && { "result.text": [1, Infinity] satisfies [number, number] }),
    },
  })),
  { name: "draining", frame: { type: "draining" } },
  {
    name: "shadow",
    frame: {
      type: "shadow",
      version: 1,
      instanceId: "i-1",
      manifest: { ...manifest, exampleQueries: [] },
      sdk: "sdk/1",
    },
    optional: OPTIONAL_OF_MANIFEST.map((path) => `manifest.${path}`),
    json: ["manifest.functions.0.inputSchema", "manifest.functions.0.outputSchema"],
    texts: { instanceId: ID, sdk: [0, 100] },
  },
  {
    name: "judged",
    frame: { type: "judged", id: "j-1", decision: "denied", rule: "roles" },
    optional: ["decision", "rule"],
    texts: { id: ID, rule: [0, 64] },
  },
];

const fromControlPlane: Omit<FrameExample, "sender">[] = [
  {
    name: "welcome",
    frame: { type: "welcome", connectionId: "n-1", agentId: "agt_1", heartbeatMs: 10_000, framesPerSecond: 200 },
    optional: ["framesPerSecond"],
    texts: { connectionId: ID },
    numbers: { heartbeatMs: POSITIVE, framesPerSecond: POSITIVE },
  },
  {
    name: "call",
    frame: {
      type: "call",
      callId: "c-1",
      attempt: 1,
      function: "get_order",
      arguments: 1,
      ...query,
      threadId: "thr_1",
      sessionId: "ses_1",
      runId: "run_1",
      timeoutMs: 1_000,
    },
    optional: ["role", "sessionId"],
    json: ["arguments", "context"],
    texts: { callId: ID },
    numbers: { attempt: POSITIVE, timeoutMs: NOT_NEGATIVE },
  },
  { name: "cancel", frame: { type: "cancel", callId: "c-1", reason: "cancelled" }, texts: { callId: ID } },
  {
    name: "callQuery",
    frame: { type: "callQuery", callId: "c-1", attempt: 1 },
    texts: { callId: ID },
    numbers: { attempt: POSITIVE },
  },
  { name: "resultAck", frame: { type: "resultAck", callId: "c-1" }, texts: { callId: ID } },
  {
    name: "prepare",
    frame: { type: "prepare", id: "p-1", ...query },
    optional: ["role"],
    json: ["context"],
    texts: { id: ID },
  },
  ...[
    { hook: "beforeQuery", query: "Why?", ...query },
    { hook: "beforeAnswer", answer: "So.", part: "answer", ...query },
  ].map((call) => ({
    name: `hook ${call.hook}`,
    frame: { type: "hook", id: "h-1", call, timeoutMs: 1_000 },
    optional: ["call.role"],
    json: ["call.context"],
    texts: { id: ID },
    numbers: { timeoutMs: NOT_NEGATIVE },
  })),
  { name: "goingAway", frame: { type: "goingAway" } },
  {
    name: "judge",
    frame: { type: "judge", id: "j-1", function: "get_order", arguments: 1, ...query },
    optional: ["role"],
    json: ["arguments", "context"],
    texts: { id: ID },
  },
];

export const FRAMES: FrameExample[] = [
  ...fromRuntime.map((example) => ({ ...example, sender: "runtime" as const })),
  ...fromControlPlane.map((example) => ({ ...example, sender: "control plane" as const })),
];
