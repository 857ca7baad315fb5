import {
  defineFunction,
  defineService,
  everyone,
  type FunctionDefinition,
  OutcomeUnknownError,
  RetryableError,
} from "@patchbay/functions";
import { z } from "zod";
import { forever, type Process, type World } from "@patchbay/test-support/world";

/** One execution of a handler. */
export interface Execution {
  callId: string;
  functionName: string;
  role: string | undefined;
  attempt: number;
  item: string;
  amount: number;
  approved: boolean;
  /** The runtime. */
  process: Process;
  /** True once the effect has happened. */
  ended: boolean;
}

/** What the owner's systems remember. */
export interface Effects {
  executions: Execution[];
  /** The most executions of `limited_charge` at a time. */
  mostLimited: number;
  /** Kills the runtime in a coming execution. */
  killNext: "before" | "in" | "after" | undefined;
}

/** Functions that may run at most once: an interrupted call ends with an unknown outcome. */
export const AT_MOST_ONCE = new Set(["charge", "refund", "close_day", "limited_charge", "settle", "pay_out", "print"]);
/** The limit of `limited_charge`. */
export const LIMIT = 2;
/** The functions that only managers may call. */
export const MANAGERS_ONLY = new Set(["close_day"]);
export const FUNCTIONS = [
  "read_item",
  "put_item",
  "charge",
  "refund",
  "close_day",
  "flaky_read",
  "settle",
  "limited_charge",
];

/** Their handlers outlive their run's process. An interrupted export begins once more. */
export const DETACHED = ["export", "pay_out", "print"];
/** A detached handler reports its progress, and looks whether it shall stop, this often. */
const STEP_MS = 5_000;

const input = z.object({ item: z.string(), amount: z.number(), ms: z.number() });
type Input = z.infer<typeof input>;

/** The owner's service, whose handlers have effects in the world. `older`: a release without `settle` and detached functions. */
export function createService(world: World, effects: Effects, { older = false } = {}) {
  async function execute(
    functionName: string,
    { item, amount, ms }: Input,
    call: { callId: string; attempt: number; role: string | undefined; approval: unknown },
    pass: (ms: number) => Promise<void> = (time) => world.pass(time),
  ) {
    const { process } = world;
    const { callId, attempt, role } = call;
    const kills = effects.killNext;
    const killsHere = (phase: Effects["killNext"]): boolean => {
      if (kills !== phase || effects.killNext !== phase || phase === undefined) return false;
      effects.killNext = undefined;
      process.kill();
      return true;
    };
    if (killsHere("before")) return forever<never>();
    world.note(`${functionName} begins`);
    const execution = {
      callId,
      functionName,
      role,
      attempt,
      item,
      amount,
      approved: call.approval !== undefined,
      process,
      ended: false,
    };
    effects.executions.push(execution);
    if (functionName === "limited_charge") countLimited();
    await pass(ms / 2);
    if (killsHere("in")) return forever<never>();
    await pass(ms / 2);
    execution.ended = true;
    if (killsHere("after")) return forever<never>();
    return { item, amount };
  }

  function countLimited(): void {
    const running = effects.executions.filter(
      (one) => one.functionName === "limited_charge" && !one.ended && one.process.alive,
    );
    effects.mostLimited = Math.max(effects.mostLimited, running.length);
  }

  const counted = (name: string, options: object = {}): FunctionDefinition =>
    defineFunction({
      name,
      description: `Executes ${name}.`,
      input,
      roles: everyone,
      ...options,
      handler: (given: Input, call) => execute(name, given, call),
    });

  const detached = (name: string, options: object): FunctionDefinition =>
    defineFunction({
      name,
      description: `Executes ${name} over hours.`,
      input,
      roles: everyone,
      detached: true,
      ...options,
      handler: (given, call) =>
        execute(name, given, call, async (ms) => {
          for (let left = ms; left > 0; left -= STEP_MS) {
            await world.pass(Math.min(left, STEP_MS));
            call.signal.throwIfAborted();
            call.progress({ left });
          }
        }),
    });

  const functions = [
    counted("read_item", { effect: "read" }),
    counted("put_item", { idempotent: true }),
    counted("charge"),
    counted("refund", { effect: "destructive", approval: { by: ["manager"], edit: ["amount"], expiresIn: "10m" } }),
    counted("close_day", { roles: ["manager"] }),
    defineFunction({
      name: "flaky_read",
      description: "Fails at its first attempts.",
      input,
      roles: everyone,
      effect: "read",
      retries: { max: 3 },
      async handler(given, call) {
        const done = await execute("flaky_read", given, call);
        if (call.attempt < 3 && given.amount % 2 === 0) throw new RetryableError({ message: "busy" });
        return done;
      },
    }),
    counted("limited_charge", { concurrency: LIMIT }),
    ...(older
      ? []
      : [
          settle(),
          detached("export", { idempotent: true }),
          detached("pay_out", { timeoutMs: 600_000 }),
          detached("print", { timeoutMs: 45_000 }),
        ]),
  ];

  function settle(): FunctionDefinition {
    return defineFunction({
      name: "settle",
      description: "Settles an item; the records know whether it happened.",
      input,
      roles: everyone,
      reconcile({ callId, input: { item, amount } }) {
        const found = effects.executions.filter((one) => one.callId === callId);
        if (found.some(({ ended }) => ended)) return { done: true, result: { item, amount } };
        return found.length === 0 ? { done: false } : "unknown";
      },
      async handler(given, call) {
        if (given.amount === 13) throw new OutcomeUnknownError("The bank did not answer.");
        return await execute("settle", given, call);
      },
    });
  }

  return defineService({ name: "shop", roles: ["manager", "clerk"], functions });
}
