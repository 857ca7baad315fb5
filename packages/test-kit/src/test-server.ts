import type { RecordedResult } from "@patchbay/control-plane";
import type { Approval, CallOutcome } from "@patchbay/protocol";
import type { JsonValue } from "@patchbay/kit";
import type { Service } from "@patchbay/runtime/service";
import type { PlayedDecision } from "./approver.ts";
import { loadControlPlane } from "./control-plane.ts";
import type { FinishedQuery, LogLine, TestQuery } from "./finished-query.ts";
import { startLocalServer } from "./local-server.ts";
import { modelChooser, type ModelChoice } from "./model-choice.ts";

/** Test server settings. Default model: the offline model. */
export interface TestServerOptions extends ModelChoice {
  /** The agent's own instructions. The model receives them before the service's. */
  instructions?: string;
  /** Time limit for a query. Default 20,000. */
  runTimeoutMs?: number;
  /**
   * `recorded`: a call that every rule allows gets its result from the replayed recording, and no handler runs. For exported runs
   * whose data the test does not have.
   */
  results?: "recorded";
}

/** A control plane with an empty database and a connected runtime, in this process, on a free local port. */
export interface TestServer<Role extends string = string> extends AsyncDisposable {
  /**
   * Runs one query to its end. A query that ends in an error is an answer with `success: false`. Rejects with `QueryRefused` if the
   * control plane rejects the query, and with the cause if the test's own model fails: a script that is too short, a recording
   * without the request.
   */
  query(query: TestQuery<Role> & Pick<ModelChoice, "model">): Promise<FinishedQuery>;
  /**
   * Waits until a call to the function waits for an approval, and approves it as the first role that may, for
   * `"caller"` as the query's role. Rejects with `QueryRefused` if the control plane refuses the decision.
   */
  approve(functionName: string, decision?: Omit<PlayedDecision, "approved">): Promise<Approval>;
  /** As `approve`, and rejects the call. */
  reject(functionName: string, decision?: Omit<PlayedDecision, "approved" | "arguments">): Promise<Approval>;
  /** Every log line from the control plane and the runtime so far. */
  readonly log: readonly LogLine[];
  /** The query API's base address. */
  readonly url: string;
  readonly agentId: string;
  readonly apiKey: string;
}

/**
 * Starts a server for one test's queries. Dispose it (`await using`) at the end.
 *
 * ```ts
 * await using server = await startTestServer(service, { model: scriptedModel(["Hello."]) });
 * const { answer } = await server.query({ query: "Hello?", role: "customer" });
 * ```
 */
export async function startTestServer<Role extends string>(
  service: Service<Role>,
  options: TestServerOptions = {},
): Promise<TestServer<Role>> {
  const { instructions = "", runTimeoutMs = 20_000 } = options;
  const chooseModel = await modelChooser(options);
  const served = options.results === "recorded" ? await withRecordedResults(service, options.replay) : service;
  const server = await startLocalServer(served, { instructions, runTimeoutMs });
  const { plane, client, log, agentId, apiKey } = server;
  return {
    log,
    url: plane.url,
    agentId,
    apiKey,
    approve: (functionName, decision) => client.decideOn(functionName, { ...decision, approved: true }),
    reject: (functionName, decision) => client.decideOn(functionName, { ...decision, approved: false }),
    query: ({ model, ...query }) => client.query(query, chooseModel(model)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Runs one query on its own test server: {@link startTestServer} for a test with one query. */
export async function runQuery<Role extends string>(
  service: Service<Role>,
  options: Omit<TestQuery<NoInfer<Role>>, "threadId"> & TestServerOptions,
): Promise<FinishedQuery> {
  const { model, ...query } = options;
  await using server = await startTestServer(service, { ...query, ...(model && { model }) });
  return await server.query(query);
}

/** The service with its own rules, and with recorded results in place of its handlers. */
async function withRecordedResults(service: Service, recording: string | undefined): Promise<Service> {
  if (recording === undefined)
    throw new TypeError('`results: "recorded"` needs a recording. Give its path as `replay`.');
  const { recordedResults } = await loadControlPlane();
  const resultOf = recordedResults(recording);
  return {
    ...service,
    async invoke({ arguments: input, context, functionName, role }) {
      const decision = await service.check({ functionName, arguments: input, context, role });
      if (!decision.ok) return decision.outcome;
      const result = resultOf(functionName, input);
      return result === undefined ? notRecorded(functionName) : outcomeOf(result);
    },
  };
}

function notRecorded(functionName: string): CallOutcome {
  const message = `The recording has no result for this call of ${functionName}.`;
  return { ok: false, code: "function_failed", message };
}

function outcomeOf({ content, isError }: RecordedResult): CallOutcome {
  if (isError) return { ok: false, code: "function_failed", message: content };
  return { ok: true, value: valueOf(content) };
}

/** A recording has the text that the model received: a string unchanged, and any other value as JSON. */
function valueOf(content: string): JsonValue {
  try {
    const value = JSON.parse(content) as JsonValue;
    return JSON.stringify(value) === content ? value : content;
  } catch {
    return content;
  }
}
