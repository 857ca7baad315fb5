import { randomUUID } from "node:crypto";
import type { JsonObject } from "@patchbay/kit";
import type { QueryResponse } from "@patchbay/protocol";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { RunRecord } from "@patchbay/engine/ports/records";
import type { NewRun, RunCommit, StoredEvent } from "@patchbay/engine/ports/store/run-store";
import { type ConsoleQueries, createConsoleQueries } from "../../../console-api/src/queries.ts";
import type { ConnectedRuntime, Store } from "@patchbay/engine/ports/store/stores";
import type { OpenStore } from "../../src/open.ts";
import { sampleAnswer } from "../../../control-plane/test/sample-answer.ts";

/** A clock that only moves when a test moves it. */
export class HandClock implements Clock {
  time = Date.UTC(2030, 0, 1);
  now(): number {
    return this.time;
  }
  advance(ms: number): void {
    this.time += ms;
  }
  sleep(): Promise<void> {
    throw new Error("a store never sleeps");
  }
}

/** One empty database, which several stores may open. */
export interface Place extends AsyncDisposable {
  open(clock: Clock): Promise<OpenStore>;
  /** Rows straight from the database, past the store. */
  rows(query: string): Promise<JsonObject[]>;
  /** Changes the database past the store. */
  execute(statement: string): Promise<void>;
}

export type MakePlace = () => Promise<Place>;

/** A store with one charged organisation and one agent, and short ways to do what tests do often. */
export interface World extends AsyncDisposable {
  store: OpenStore;
  console: ConsoleQueries;
  clock: HandClock;
  place: Place;
  orgId: string;
  agentId: string;
  another(): Promise<OpenStore>;
  newRun(change?: Partial<NewRun>): NewRun;
  start(change?: Partial<NewRun>): Promise<RunRecord>;
  finish(run: RunRecord, change?: Partial<RunCommit>, response?: string): Promise<void>;
}

export const consoleOf = ({ engine }: OpenStore): ConsoleQueries => createConsoleQueries(engine);

export async function openWorld(makePlace: MakePlace): Promise<World> {
  const place = await makePlace();
  const clock = new HandClock();
  const stores: OpenStore[] = [];
  const another = async (): Promise<OpenStore> => {
    const store = await place.open(clock);
    stores.push(store);
    return store;
  };
  const store = await another();
  const orgId = "org_1";
  const agentId = "agt_1";
  await store.accounts.createOrg({ orgId, name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ agentId, orgId, name: "Clerk", instructions: "" });

  const newRun: World["newRun"] = (change) => sampleRun({ orgId, agentId, ...change });
  return {
    store,
    console: consoleOf(store),
    clock,
    place,
    orgId,
    agentId,
    another,
    newRun,
    async start(change) {
      const started = await store.runs.start(newRun(change));
      if (started.kind !== "started") throw new Error(`the run is ${started.kind}`);
      return started.run;
    },
    async finish(run, change, response) {
      await store.runs.commit(run, { ...ending(run, response), ...change });
    },
    async [Symbol.asyncDispose]() {
      for (const open of stores) await open.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

export function sampleRun(change: Partial<NewRun> & Pick<NewRun, "orgId" | "agentId">): NewRun {
  return {
    runId: `run_${randomUUID()}`,
    keyId: "key_1",
    threadId: `thr_${randomUUID()}`,
    newThread: change.threadId === undefined,
    kind: "query",
    request: sampleRequest(),
    timeoutMs: 240_000,
    owner: "replica-a",
    leaseMs: 15_000,
    audit: [],
    ...change,
  };
}

export function sampleRequest(change: Partial<NewRun["request"]> = {}): NewRun["request"] {
  return {
    charged: true,
    query: "Which orders are late?",
    context: { shop: 1 },
    analysisMode: false,
    provider: "offline",
    model: "offline",
    maxTokens: 8192,
    system: "You are a clerk.",
    warnings: [],
    ...change,
  };
}

export function event(seq: number, type = "thought"): StoredEvent {
  return { seq, body: JSON.stringify({ type, content: `no. ${seq}` }) };
}

/** The last event of a run that ended with this result. */
export function finalResponse(seq: number, { toolInteractions }: Pick<QueryResponse, "toolInteractions">): StoredEvent {
  return { seq, body: JSON.stringify({ type: "finalResponse", response: `no. ${seq}`, toolInteractions }) };
}

/** The commit that ends a run well, next in its log. */
export function ending(run: Pick<RunRecord, "runId" | "threadId" | "lastSeq">, response = "None."): RunCommit {
  const result = sampleResult(run, response);
  return {
    events: [finalResponse(run.lastSeq + 1, result)],
    finish: {
      status: "succeeded",
      result,
      history: [
        { role: "user", text: "Which orders are late?" },
        { role: "assistant", text: response, calls: [] },
      ],
      releaseIdempotencyKey: false,
    },
  };
}

/** The commit that ends a run with an error, next in its log. */
export function failing(run: Parameters<typeof ending>[0]): RunCommit {
  const { finish } = ending(run);
  return { events: [event(run.lastSeq + 1, "error")], ...(finish && { finish: { ...finish, status: "failed" } }) };
}

export function sampleResult(run: Pick<RunRecord, "runId" | "threadId">, response: string): QueryResponse {
  const { runId, threadId } = run;
  return { success: true, errorMessage: "", ...sampleAnswer({ response, runId, threadId }) };
}

export function sampleTurn(
  step: number,
  change: Partial<NonNullable<RunCommit["turn"]>> = {},
): NonNullable<RunCommit["turn"]> {
  return {
    step,
    messages: [{ role: "assistant", text: "", calls: [{ id: "m1", name: "list_orders", arguments: "{}" }] }],
    usage: { input: 100, cachedInput: 20, cacheWriteInput: 30, output: 10 },
    costMicros: 0,
    warnings: [],
    provider: "offline",
    model: "offline",
    reservedMicros: 0,
    ...change,
  };
}

export function sampleCall(callId: string, change: Partial<NonNullable<RunCommit["calls"]>[number]> = {}) {
  return {
    callId,
    step: 0,
    position: 0,
    modelCallId: "m1",
    functionName: "list_orders",
    arguments: { late: true },
    instanceId: "rt_1",
    attempt: 1,
    ...change,
  };
}

export function sampleLink(change: Partial<ConnectedRuntime> = {}): ConnectedRuntime {
  return {
    agentId: "agt_1",
    service: "desk",
    instanceId: "rt_1",
    connectionId: "con_1",
    replicaId: "replica-a",
    manifestHash: "h1",
    concurrency: 8,
    draining: false,
    ...change,
  };
}

/** Claims as a replica does that finds other owners gone: leases that ran out end first. */
export async function takeOver({ runs }: Store, claim: Parameters<Store["runs"]["claim"]>[0]): Promise<RunRecord[]> {
  await runs.endLeases({ owner: claim.owner, working: [] });
  return runs.claim(claim);
}
