import type { CallOutcome, FunctionManifest, Manifest, PreparedContext } from "@patchbay/protocol";
import type { Invocation, InvokeOptions, Service } from "@patchbay/functions";

/** The implementation of a fake service's functions. */
export type Answer = (invocation: Invocation, options: InvokeOptions) => Promise<CallOutcome>;

export interface FakeService extends Service {
  /** Every call that reached the service, in order. */
  readonly invoked: Invocation[];
}

/** A service of the given functions that records its calls. Each returns `answer`, by default its arguments. */
export function fakeService(
  options: { functions?: string[]; answer?: Answer; prepare?: () => Promise<PreparedContext> } = {},
): FakeService {
  const { functions = ["echo"], answer = echo, prepare = async () => ({ ok: true }) } = options;
  const invoked: Invocation[] = [];
  return {
    manifest: fakeManifest(functions),
    invoked,
    prepare,
    async invoke(invocation, options) {
      invoked.push(invocation);
      options.onBegin?.();
      return answer(invocation, options);
    },
    runHook: async (call) =>
      call.hook === "beforeAnswer" ? { verdict: "replaced", text: `checked ${call.answer}` } : { verdict: "passed" },
    check: async () => ({ ok: true }),
    access: new Map(),
    code: () => ({}),
    records: () => ({}),
    parsing: () => ({}),
  };
}

async function echo(invocation: Invocation): Promise<CallOutcome> {
  return { ok: true, value: invocation.arguments };
}

export function fakeManifest(functions: string[]): Manifest {
  return { name: "hand", preparesContext: false, functions: functions.map(fakeFunction) };
}

function fakeFunction(name: string): FunctionManifest {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
    roles: "everyone",
    conditional: false,
    effect: "write",
    idempotent: false,
    timeoutMs: 60_000,
  };
}

/** The outcome of an aborted call by the reason, as a real service returns it. */
export function abortedOutcome(signal: AbortSignal): CallOutcome {
  const timedOut = (signal.reason as Error).name === "TimeoutError";
  return { ok: false, code: timedOut ? "timed_out" : "cancelled", message: "stopped" };
}

/** Answers only when the call is aborted. `started` resolves when the first call has started. */
export function untilAborted(): { answer: Answer; started: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const answer: Answer = (_, { signal }) =>
    new Promise((resolve) => {
      const end = (): void => resolve(abortedOutcome(signal));
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      begun.resolve();
    });
  return { answer, started: begun.promise };
}

/** Calls that wait at a gate until the test opens it. */
export function gated(): { answer: Answer; open: () => void; started: (count: number) => boolean } {
  const gate = Promise.withResolvers<void>();
  let count = 0;
  return {
    async answer(invocation) {
      count++;
      await gate.promise;
      return { ok: true, value: invocation.arguments };
    },
    open: gate.resolve,
    started: (wanted) => count >= wanted,
  };
}
