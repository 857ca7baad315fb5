import type { Service } from "../service.ts";
import { openDesk } from "./desk.ts";
import type { FinishedQuery, TestQuery } from "./finished-query.ts";
import type { LogLine } from "./log-lines.ts";
import { modelChooser, type ModelChoice } from "./model-choice.ts";
import { withRecordedResults } from "./recorded-results.ts";

/** How a desk answers queries; the model is an offline one unless chosen. */
export interface TestDeskOptions extends ModelChoice {
  /** The agent's own instructions, told to the model before the service's. */
  instructions?: string;
  /** Time a query has. Default 20,000. */
  runTimeoutMs?: number;
  /**
   * `recorded`: calls that every rule lets through are answered from the recording that is replayed, and no handler runs. For runs
   * that were exported where the data are not the test's.
   */
  results?: "recorded";
}

/** A service at work: a control plane with an empty database and a connected runtime, in this process, on a free port of this machine. */
export interface TestDesk extends AsyncDisposable {
  /**
   * Runs one query to its end. A query that ends in an error is an answer with `success: false`. Rejects with `QueryRefused` when the
   * service would not begin it, and with the reason when the test's own model could not go on: a script that is too short, a
   * recording that does not hold the request.
   */
  query(query: TestQuery & Pick<ModelChoice, "model">): Promise<FinishedQuery>;
  /** Every line of both sides so far. */
  readonly log: readonly LogLine[];
  /** Base address of the query API. */
  readonly url: string;
  readonly agentId: string;
  readonly apiKey: string;
}

/**
 * Starts a service for several queries of one test; dispose it (`await using`) when done.
 *
 * ```ts
 * await using desk = await startTestDesk(service, { model: scriptedModel(["Hello."]) });
 * const { answer } = await desk.query({ query: "Hello?", role: "customer" });
 * ```
 */
export async function startTestDesk(service: Service, options: TestDeskOptions = {}): Promise<TestDesk> {
  const { instructions = "", runTimeoutMs = 20_000 } = options;
  const chooseModel = await modelChooser(options);
  const served = options.results === "recorded" ? await withRecordedResults(service, options.replay) : service;
  const { plane, client, log, agentId, apiKey, ...desk } = await openDesk(served, { instructions, runTimeoutMs });
  return {
    log,
    url: plane.url,
    agentId,
    apiKey,
    query: ({ model, ...query }) => client.query(query, chooseModel(model)),
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}

/** Runs one query on a service of its own: {@link startTestDesk} for a test with one query. */
export async function runQuery(
  service: Service,
  options: Omit<TestQuery, "threadId"> & TestDeskOptions,
): Promise<FinishedQuery> {
  const { model, ...query } = options;
  await using desk = await startTestDesk(service, { ...query, ...(model && { model }) });
  return await desk.query(query);
}
