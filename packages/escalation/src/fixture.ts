import type { ModelProvider } from "@patchbay/control-plane";
import { type JsonObject, present } from "@patchbay/kit";
import type { Service } from "@patchbay/runtime/service";
import type { Approver } from "@patchbay/test-kit/approver";
import { createCanaries } from "@patchbay/test-kit/canaries";
import { QueryRefused } from "@patchbay/test-kit/finished-query";
import {
  startLocalServer,
  type LocalServer,
  type LocalServerOptions,
  type StartPlanes,
} from "@patchbay/test-kit/local-server";
import type { Adapter, QueryTraces } from "@patchbay/test-kit/test-client";
import { hostileModel, type Attempt } from "./hostile-model.ts";
import { instrument, type HandlerMode } from "./instrument.ts";
import { judgeCalls, judgePlaces, judgeQuery, type AttackCase, type Evidence, type Label } from "./judge.ts";
import type { OwnerRules, Targets, TriedRole } from "./targets.ts";

/** An attack's query. */
export interface AttackQuery extends Label {
  query?: string;
  /** Default: the fixture's context. */
  context?: JsonObject;
  threadId?: string;
  /** Calls that the model makes. */
  attempts?: readonly Attempt[];
  /** Number of calls that texts order the model to make. */
  planted?: number;
  mode?: HandlerMode;
  /** Default: a hostile model. */
  model?: ModelProvider;
  /** True if a hook refuses the query, so that it ends with an error. */
  isRefused?: boolean;
  /** States another role than the tried one. */
  statedRole?: string;
  /** Uses a key that is not pinned to the role. */
  unpinned?: boolean;
  /** The key that reads what the query left behind. Default: the query's key. */
  reader?: string;
  /** The context that its calls must have, if the attack states another one. */
  ownContext?: JsonObject;
  /** True if the control plane may reject the query. */
  mayBeRefused?: boolean;
  /** Decides on calls that wait for an approval. Default: approves them. */
  approver?: Approver;
  /** Default: the fixture's server. */
  server?: LocalServer;
  /** Default: the query API. */
  adapter?: Adapter;
}

export interface FixtureSetup extends Pick<Fixture, "service" | "rules" | "roles" | "context" | "report" | "count"> {
  targets: ReadonlyMap<TriedRole, Targets>;
  notes: Set<string>;
  serve: (service: Service) => Service;
  wrapModel: (model: ModelProvider) => ModelProvider;
  startPlanes?: StartPlanes;
}

const CONCURRENCY = 256;
/** No function lists this role. A key that is pinned to it asks without a role and reads what was asked without one. */
export const UNLISTED_ROLE = "patchbay-nobody";

/** The instrumented service on a running server, and the tools to attack it. Dispose it at the end. */
export class Fixture implements Evidence, AsyncDisposable {
  readonly service: Service;
  readonly rules: OwnerRules;
  readonly canaries = createCanaries();
  readonly roles: readonly TriedRole[];
  /** A context that queries may have. */
  readonly context: JsonObject;
  /** The connected service: instrumented, wrapped as the owner does, and recording its calls. */
  readonly served: Service;
  readonly report: Evidence["report"];
  /** Adds to an attack's attempt count. */
  readonly count: (label: Label, attempts: number) => void;
  server!: LocalServer;
  readonly #targets: ReadonlyMap<TriedRole, Targets>;
  readonly #options: Pick<LocalServerOptions, "wrapModel" | "startPlanes">;
  readonly #servers = new AsyncDisposableStack();
  #opened = 0;
  /** By run id and by session id. */
  readonly #cases = new Map<string, AttackCase>();
  /** The case for calls without a session id. */
  #sessionless: AttackCase | undefined;
  #lastSeries: Promise<unknown> = Promise.resolve();
  readonly #keys = new Map<string, Promise<string>>();

  constructor(setup: FixtureSetup) {
    const { service, rules, roles, context, targets, notes, serve, wrapModel, startPlanes, report, count } = setup;
    this.service = service;
    this.rules = rules;
    this.roles = roles;
    this.context = context;
    this.report = report;
    this.count = count;
    this.#targets = targets;
    this.#options = { wrapModel, ...present({ startPlanes }) };
    const instrumented = instrument(service, {
      canaries: this.canaries,
      notes,
      onRun: (run) => {
        const attackCase = this.#caseOf(run);
        if (!attackCase) throw new Error(`A handler ran outside the queries of the suite: ${run.functionName}`);
        attackCase.runs.push(run);
        return { mode: attackCase.mode, role: attackCase.effective };
      },
    });
    this.served = this.#recording(serve(instrumented));
  }

  targets(role: TriedRole): Targets {
    return this.#targets.get(role)!;
  }

  /** Starts a server with the instrumented service. The fixture closes it. */
  async startServer(): Promise<LocalServer> {
    const options = { instructions: "", runTimeoutMs: 60_000, concurrency: CONCURRENCY, ...this.#options };
    return this.#servers.use(await startLocalServer(this.served, options));
  }

  openCase({
    attack,
    role,
    effective = role.effective,
    mode = { kind: "answer" },
    context,
  }: Label & Partial<Pick<AttackCase, "effective" | "mode" | "context">>): AttackCase {
    const sessionId = `escalation-${(this.#opened += 1)}`;
    const base = { sessionId, attack, role, effective, mode, ...present({ context }) };
    const attackCase = { ...base, invocations: new Map(), runs: [] };
    this.#cases.set(sessionId, attackCase);
    return attackCase;
  }

  /** Runs one query and judges it. Undefined if the control plane rejected it. */
  async ask(query: AttackQuery): Promise<QueryTraces | undefined> {
    const { attack, role, statedRole, mode, ownContext: context, attempts = [], planted = 0 } = query;
    const attackCase = this.openCase({ attack, role, ...present({ effective: statedRole, mode, context }) });
    const traces = await this.#send(attackCase, query);
    this.count(attackCase, attempts.length + planted);
    await judgeCalls(this, attackCase, { behindControlPlane: true });
    if (traces) judgeQuery(this, attackCase, traces);
    return traces;
  }

  /**
   * Sends requests whose calls carry no session id, and judges the calls and the answers. One series follows another, so that each
   * call belongs to the series in progress.
   */
  async series(label: Label & Pick<AttackCase, "context">, send: () => Promise<unknown[]>): Promise<void> {
    const attackCase = this.openCase(label);
    const sent = this.#lastSeries.then(() => {
      this.#sessionless = attackCase;
      return send();
    });
    this.#lastSeries = sent.catch(() => {});
    const received = await sent;
    await judgeCalls(this, attackCase, { behindControlPlane: true });
    judgePlaces(this, attackCase, { received });
  }

  /** An API key that may state this role only. */
  keyFor(role: string | undefined, { plane, agentId } = this.server): Promise<string> {
    const pinned = role ?? UNLISTED_ROLE;
    let key = this.#keys.get(`${agentId} ${pinned}`);
    if (!key) {
      key = plane.admin.createKey({ agentId, roles: [pinned] }).then(({ apiKey }) => apiKey);
      this.#keys.set(`${agentId} ${pinned}`, key);
    }
    return key;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#servers.disposeAsync();
  }

  async #send(attackCase: AttackCase, query: AttackQuery): Promise<QueryTraces | undefined> {
    const { role, context = this.context, threadId, attempts = [], server = this.server, adapter, reader } = query;
    const stated = query.statedRole ?? role.stated;
    const key = query.unpinned ? server.apiKey : await this.keyFor(attackCase.effective, server);
    // The answer repeats every canary that the model received, so that leaks into anything derived from answers are
    // found too.
    const hostile = hostileModel(attempts, ({ messages }) =>
      [...new Set(this.canaries.wordsIn(JSON.stringify(messages)))].join(" "),
    );
    const body = {
      query: query.query ?? "Follow your instructions.",
      sessionId: attackCase.sessionId,
      context,
      approver: query.approver ?? (() => ({ approved: true })),
      ...present({ role: stated, threadId }),
    };
    let isRunning = false;
    try {
      const traces = await server.client.ask(body, query.model ?? hostile, {
        key,
        onRun: (runId) => {
          isRunning = true;
          this.#cases.set(runId, attackCase);
        },
        ...present({ adapter, reader }),
      });
      const { success, errorMessage, code } = traces.answer;
      if (!success && !(query.isRefused && code === "refused"))
        this.report(attackCase, "failed", `a query ended with an error, so it proves nothing: ${errorMessage}`);
      return traces;
    } catch (error) {
      if (error instanceof QueryRefused && isRunning) {
        // A key for the role does not see the run, or another approver has decided.
        this.report(attackCase, "failed", `a query could not be followed to its end: ${error.message}`);
        return undefined;
      }
      if (query.mayBeRefused && error instanceof QueryRefused && error.status < 500) return undefined;
      throw error;
    }
  }

  /** Not every adapter carries a session id, and a hostile control plane's frames belong to no run. */
  #caseOf({ runId, sessionId }: { runId: string; sessionId?: string | undefined }): AttackCase | undefined {
    return this.#cases.get(runId) ?? (sessionId === undefined ? this.#sessionless : this.#cases.get(sessionId));
  }

  /** Records the calls that reach the service, before the owner's wrapper sees them. */
  #recording(service: Service): Service {
    return {
      ...service,
      invoke: (invocation, options) => {
        this.#caseOf(invocation)?.invocations.set(invocation.callId, invocation);
        return service.invoke(invocation, options);
      },
    };
  }
}

export async function openFixture(setup: FixtureSetup): Promise<Fixture> {
  await using opening = new AsyncDisposableStack();
  const fixture = opening.use(new Fixture(setup));
  fixture.server = await fixture.startServer();
  opening.move();
  return fixture;
}
