import { ErrorBody, HTTP_ERROR_CODES, RUN_ERROR_CODES, CALL_ERROR_CODES } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { scriptFor } from "@patchbay/test-support/providers";
import { breakStore, type ContractSystem, listeningLog, startContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });

/** One request for each code, in a system whose tier allows two queries a minute. */
const PROVOKED: Record<(typeof HTTP_ERROR_CODES)[number], (system: ContractSystem) => Promise<Response>> = {
  authentication_failed: (system) => system.post(system.path(), {}, { "x-api-key": "no" }),
  agent_mismatch: (system) => system.post("/agents/agt_other/query", { query: "hi" }),
  invalid_request: (system) => system.post(system.path(), { role: 7 }),
  model_not_allowed: (system) =>
    system.post(system.path(), { query: "hi", llmConfig: { provider: "openai", model: "../admin" } }),
  async role_not_allowed(system) {
    const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["clerk"] });
    return system.post(system.path(), { query: "hi", role: "admin" }, { "x-api-key": apiKey });
  },
  unsupported_media_type: (system) => system.post(system.path(), "hi", { "content-type": "text/plain" }),
  payload_too_large: (system) => system.post(system.path(), "x".repeat(1_048_577)),
  not_found: (system) => system.get(`/agents/${system.agentId}/runs/run_nobody`),
  method_not_allowed: (system) => system.get(system.path()),
  async conflict({ agentId, plane, post }) {
    const { apiKey } = await plane.admin.createKey({ agentId, can: ["approve"] });
    plane.store.approvals.get = async () => DECIDED;
    const headers = { "x-api-key": apiKey };
    return post(`/agents/${agentId}/approvals/apr_1/decision`, { approved: true, as: "manager" }, headers);
  },
  async idempotency_mismatch(system) {
    const key = { "idempotency-key": "k" };
    await system.post(system.path(), { query: "hi" }, key);
    return system.post(system.path(), { query: "ho" }, key);
  },
  async unavailable(system) {
    using _broken = breakStore(system.plane.store, "runs", ["start"], new StoreUnavailable("disk full"));
    return await system.post(system.path("query-stream"), { query: "hi" });
  },
  async internal(system) {
    using _broken = breakStore(system.plane.store, "runs", ["start"], new Error("SQLITE_CORRUPT at /secret/path"));
    return await system.post(system.path(), { query: "hi" });
  },
  rate_limited: (system) => system.post(system.path(), { query: "hi" }),
};

const DECIDED: Awaited<ReturnType<ContractSystem["plane"]["store"]["approvals"]["get"]>> = {
  approvalId: "apr_1",
  orgId: "org_1",
  agentId: "agt_1",
  runId: "run_1",
  threadId: "thr_1",
  callId: "call_1",
  functionName: "refund",
  arguments: {},
  argumentsHash: "",
  by: ["manager"],
  edit: [],
  fourEyes: false,
  status: "rejected",
  requestedBy: "key_1",
  requestedAt: 0,
  expiresAt: 1,
  reported: false,
};

const STATUSES: Record<string, number> = {
  authentication_failed: 401,
  agent_mismatch: 403,
  role_not_allowed: 403,
  invalid_request: 400,
  model_not_allowed: 400,
  unsupported_media_type: 415,
  payload_too_large: 413,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_mismatch: 422,
  unavailable: 503,
  internal: 500,
  rate_limited: 429,
};

test.each(Object.keys(PROVOKED) as (keyof typeof PROVOKED)[])(
  "every 4xx/5xx that reaches a route has the error body: %s",
  async (code) => {
    const tiers = { one: { queriesPerMinute: code === "rate_limited" ? 1 : 100, charged: false } };
    await using system = await startContractSystem(answering, { tier: "one", tiers });
    if (code === "rate_limited") await system.query("hi");

    const response = await PROVOKED[code](system);

    expect(response.status).toBe(STATUSES[code]);
    expect(response.headers.get("content-type")).toBe("application/json");
    const body = (await response.json()) as ErrorBody;
    expect(ErrorBody.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({ success: false, code, requestId: response.headers.get("X-Request-Id") });
    expect(body.errorMessage).not.toBe("");
  },
);

describe("codes (closed set)", () => {
  test("HTTP", () => {
    expect([...HTTP_ERROR_CODES].sort()).toEqual(
      (
        "authentication_failed agent_mismatch role_not_allowed rate_limited invalid_request unsupported_media_type " +
        "payload_too_large not_found method_not_allowed conflict idempotency_mismatch model_not_allowed unavailable internal"
      )
        .split(" ")
        .sort(),
    );
  });
  test("in a response", () => {
    expect([...RUN_ERROR_CODES].sort()).toEqual(
      (
        "agent_session_not_found insufficient_credits budget_exceeded provider_not_configured provider_error model_not_allowed model_refused " +
        "output_limit output_invalid step_limit refused deadline_exceeded cancelled thread_busy approval_required call_running crash_loop internal"
      )
        .split(" ")
        .sort(),
    );
  });
  test("of a failed call", () => {
    expect([...CALL_ERROR_CODES].sort()).toEqual(
      (
        "denied unknown_function invalid_arguments function_failed timed_out outcome_unknown result_too_large call_limit " +
        "repeated_call approval_required rejected approval_expired caller_token_expired " +
        "call_running cancelled"
      )
        .split(" ")
        .sort(),
    );
  });
});

describe("a store that fails during a run", () => {
  test("for a moment: the run waits and continues", async () => {
    let broken: Disposable | undefined;
    const log = listeningLog((message) => message === "store unavailable, retrying" && broken?.[Symbol.dispose]());
    await using system = await startContractSystem(
      ({ step }) => {
        if (step === 1) return { text: "Done." };
        broken = breakStore(system.plane.store, "runs", ["commit"], new StoreUnavailable("busy"));
        return { calls: [{ name: "look_up", arguments: { id: "1" } }] };
      },
      { log },
    );

    const answer = await system.query("hi");

    expect(answer).toMatchObject({ success: true, response: "Done.", toolInteractions: [{ success: true }] });
    expect(system.desk.handled).toHaveLength(1);
  });

  test("permanently: the run ends with code internal and without the cause", async () => {
    await using system = await startContractSystem(answering);
    const { threadId } = await system.query("first");
    using _broken = breakStore(system.plane.store, "runs", ["history"], new Error("SQLITE_CORRUPT"));
    const answer = await system.query("hi", { threadId });
    expect(answer).toMatchObject({ success: false, code: "internal" });
    expect(JSON.stringify(answer)).not.toContain("SQLITE");
    const { events } = await system.stream("hi", { threadId });
    expect(events.map(({ data }) => [data.type, data["code"]])).toEqual([["error", "internal"]]);
  });
});
