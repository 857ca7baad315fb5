import type { LiveEvent, QueryResponse, RunEvent, RunStatus } from "@patchbay/protocol";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { sampleAnswer, USAGE } from "../../../../control-plane/test/sample-answer.ts";
import type { Principal, Followed, Query, RunHandle, Runs } from "@patchbay/engine/run/api";

/** One run as the fake keeps it: its log, and what a test does to it. */
export interface FakeRun {
  handle: RunHandle;
  log: Followed[];
  status: RunStatus;
  result?: QueryResponse;
  finishedAgoMs?: number;
  readers: { cancelWhenGone: boolean }[];
  /** Followers that are iterating now. */
  followers: number;
  /** Events handed out to followers so far. */
  handedOut: number;
  store(event: RunEvent): void;
  show(event: LiveEvent): void;
  end(result: QueryResponse, event: RunEvent): void;
  /** What the core does when the process drains. */
  drain(): void;
  /** Resolves once the condition holds; checked after each change. */
  until(condition: (run: FakeRun) => boolean): Promise<void>;
}

export interface FakeRuns extends Runs {
  runs: Map<string, FakeRun>;
  starts: { caller: Principal; query: Query }[];
  joins: string[];
  /** What `start` does instead, when set. */
  onStart?: (caller: Principal, query: Query) => void;
  /** What `follow` throws after the events it has, when set. */
  followFailure?: Error;
  /** Called with each run that begins: ends it at once unless replaced. */
  onBegin: (run: FakeRun) => void;
}

export function answerOf({ handle }: FakeRun): { result: QueryResponse; event: RunEvent } {
  const { runId, threadId } = handle;
  const common = sampleAnswer({ response: "**done**", threadId, runId, executionTimeMs: 5 });
  return {
    result: { success: true, errorMessage: "", ...common },
    event: { type: "finalResponse", ...common },
  };
}

export function createFakeRuns(): FakeRuns {
  const runs = new Map<string, FakeRun>();
  const keyed = new Map<string, { runId: string; bodyHash: string }>();
  const cancelled = new Set<string>();
  const detached: { run: RunHandle; name: string }[] = [];
  let count = 0;

  const visible = (caller: Principal, runId: string): FakeRun | undefined => {
    const run = runs.get(runId);
    return run?.handle.agentId === caller.agentId && caller.roles === undefined ? run : undefined;
  };

  const fake: FakeRuns = {
    inclusions: async () => undefined,
    runs,
    starts: [],
    joins: [],
    onBegin(run) {
      const { result, event } = answerOf(run);
      run.end(result, event);
    },

    async start(caller, query) {
      fake.onStart?.(caller, query);
      fake.starts.push({ caller, query });
      // Like the core: an invalid thread id is rejected before a run exists.
      if (query.threadId !== undefined && !/^[\w-]+$/.test(query.threadId))
        throw new ServiceError("invalid_request", "Thread not found");
      const threadId = query.threadId ?? `thr_${++count}`;
      const run = createFakeRun({ runId: `run_${++count}`, threadId, agentId: caller.agentId });
      runs.set(run.handle.runId, run);
      if (query.cancelWhenGone) cancelled.add(run.handle.runId);
      if (query.idempotency)
        keyed.set(`${caller.agentId} ${query.idempotency.key}`, {
          runId: run.handle.runId,
          bodyHash: query.idempotency.bodyHash,
        });
      fake.onBegin(run);
      return run.handle;
    },

    retry: async () => undefined,
    list: async () => ({ items: [], nextCursor: null }),
    async requireRole() {},

    agentFacts: async () => ({ name: "Desk", roles: new Set(["clerk", "chief"]) }),
    functionsFor: async () => undefined,
    check: async () => undefined,
    onAgentChange: () => ({ [Symbol.dispose]() {} }),

    async detach(run, name) {
      detached.push({ run, name });
    },

    async reattach(_caller, name) {
      const at = detached.findIndex((one) => one.name === name);
      return at === -1 ? undefined : detached.splice(at, 1)[0]!.run;
    },

    async join(caller, key, bodyHash) {
      fake.joins.push(bodyHash);
      const known = keyed.get(`${caller.agentId} ${key}`);
      if (!known) return undefined;
      if (known.bodyHash !== bodyHash) throw new ServiceError("idempotency_mismatch", "Used with another body");
      return runs.get(known.runId)?.handle;
    },

    follow: (handle, options) => followRun(fake, runs.get(handle.runId)!, options),

    async resultText(handle, options) {
      const result = await fake.result(handle, options);
      return result && JSON.stringify(result);
    },

    async result(handle, { signal }) {
      const run = runs.get(handle.runId)!;
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      const ended = run.until(() => run.result !== undefined || isDrained(run));
      await Promise.race([ended, aborted]);
      return run.result;
    },

    attach(handle, options) {
      const run = runs.get(handle.runId)!;
      run.readers.push(options);
      changed(run);
      return {
        answered() {},
        [Symbol.dispose]() {
          run.readers.splice(run.readers.indexOf(options), 1);
          changed(run);
        },
      };
    },

    cancelsWhenGone: async ({ runId }) => cancelled.has(runId),

    async find(caller, runId) {
      const run = visible(caller, runId);
      if (!run) return undefined;
      const lastEventId = run.log.findLast((event) => event.id !== undefined)?.id ?? 0;
      const { status, finishedAgoMs } = run;
      return { ...run.handle, status, lastEventId, ...(finishedAgoMs !== undefined && { finishedAgoMs }) };
    },

    unended: async () => [],
    async *log({ runId }) {
      yield* runs.get(runId)!.log.filter(({ id }) => id !== undefined);
    },

    async detail(caller, runId) {
      const run = visible(caller, runId);
      if (!run) return undefined;
      const { threadId } = run.handle;
      return {
        runId,
        threadId,
        status: run.status,
        startedAt: null,
        finishedAt: null,
        usage: USAGE,
        ...(run.result && { result: run.result }),
      };
    },

    recordFeedback: async (caller, runId) => visible(caller, runId) !== undefined,
    deleteFeedback: async (caller, runId) => visible(caller, runId) !== undefined,

    async cancel(caller, runId) {
      const run = visible(caller, runId);
      return run && { success: true, runId, status: run.status };
    },

    eraseThread: async () => false,

    async open() {},
    async drain() {},
  };
  return fake;
}

const watchers = new WeakMap<FakeRun, Set<() => void>>();
const drained = new WeakSet<FakeRun>();
const isDrained = (run: FakeRun): boolean => drained.has(run);
const changed = (run: FakeRun): void => watchers.get(run)?.forEach((wake) => wake());

function createFakeRun(handle: RunHandle): FakeRun {
  const run: FakeRun = {
    handle,
    log: [],
    status: "running",
    readers: [],
    followers: 0,
    handedOut: 0,
    store(event) {
      const id = run.log.filter((one) => one.id !== undefined).length + 1;
      run.log.push({ id, body: JSON.stringify(event) });
      changed(run);
    },
    show(event) {
      run.log.push({ body: JSON.stringify(event) });
      changed(run);
    },
    end(result, event) {
      run.result = result;
      run.status = result.success ? "succeeded" : "failed";
      run.finishedAgoMs = 0;
      run.store(event);
    },
    drain() {
      drained.add(run);
      changed(run);
    },
    async until(condition) {
      const wakes = watchers.get(run)!;
      while (!condition(run))
        await new Promise<void>((resolve) => {
          const wake = () => {
            wakes.delete(wake);
            resolve();
          };
          wakes.add(wake);
        });
    },
  };
  watchers.set(run, new Set());
  return run;
}

async function* followRun(
  fake: FakeRuns,
  run: FakeRun,
  { after, deltas, signal }: { after: number; deltas: boolean; signal: AbortSignal },
): AsyncGenerator<Followed[]> {
  const stop = () => changed(run);
  signal.addEventListener("abort", stop);
  run.followers++;
  changed(run);
  try {
    for (let next = 0; ;) {
      for (const event of run.log.slice(next)) {
        next++;
        if (event.id === undefined ? !deltas : event.id <= after) continue;
        run.handedOut++;
        yield [event];
        if (signal.aborted) return;
      }
      if (fake.followFailure) throw fake.followFailure;
      if ((run.finishedAgoMs !== undefined && next === run.log.length) || isDrained(run) || signal.aborted) return;
      const seen = next;
      await run.until(
        () => run.log.length > seen || run.finishedAgoMs !== undefined || isDrained(run) || signal.aborted,
      );
    }
  } finally {
    run.followers--;
    signal.removeEventListener("abort", stop);
    changed(run);
  }
}
