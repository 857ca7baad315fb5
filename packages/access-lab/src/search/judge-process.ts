import { fork } from "node:child_process";
import { CommandFailure } from "@patchbay/loading/failure";
import { startEnvironment } from "@patchbay/loading/config";
import type { ServiceFacts, Sought } from "./facts.ts";
import type { Call, Decisions, Judge } from "./judge.ts";
import type { Dissection, MutatedFile } from "./mutants.ts";

/** Messages to the process that judges calls. */
export type ToJudge =
  | { type: "load"; mutated: MutatedFile[]; dissects: boolean; sought: Sought }
  | {
      type: "judge";
      id: number;
      mutant: number;
      functionName: string;
      columns: readonly string[];
      calls: readonly Call[];
    };

/** Messages from that process. */
export type FromJudge =
  | { type: "loaded"; facts: ServiceFacts; dissection?: Dissection }
  | { type: "judged"; id: number; decisions: Decisions[]; reached: number[] }
  /** `reason` is for people and may have several lines. */
  | { type: "failed"; reason: string };

/** A process that judges calls to a service. No handler runs in it. */
export interface JudgeChild extends Disposable {
  facts: ServiceFacts;
  /** With `dissects`. */
  dissection?: Dissection | undefined;
  /** Rejects with `NoAnswer` when the service does not answer in time. */
  judge: Judge;
  /** The judge for the service with one mutant in its code. 0: without one. */
  judgeOf(mutant: number): Judge;
  /** The mutants whose code calls have run, and conditions: a negative id for one that was false. */
  reached: ReadonlySet<number>;
}

/** The process ended, or its service did not decide in time: owner code may loop. */
export class NoAnswer extends CommandFailure {}

/** Longest time for loading a service: the process starts, and imports the service with what it needs. */
const LOADING_MS = 60_000;

/** `timeoutMs`: longest time for one judgement, default 60 s. */
export interface JudgeOptions {
  /** The service's name in messages. Default: its file. */
  name?: string;
  mutated?: MutatedFile[];
  /** The process also finds the mutants of the service. */
  dissects?: boolean;
  sought?: Sought;
  timeoutMs?: number;
}

/** Starts the process `entry` that loads `file`, with other code for some files. What the code prints goes to stderr. */
export async function startJudge(
  entry: string,
  file: string,
  { name = file, mutated = [], dissects = false, sought = {}, timeoutMs = 60_000 }: JudgeOptions = {},
): Promise<JudgeChild> {
  const child = fork(entry, [file], {
    stdio: ["ignore", 2, 2, "ipc"],
    execArgv: [],
    env: startEnvironment,
    serialization: "json",
  });
  const loaded = Promise.withResolvers<FromJudge & { type: "loaded" }>();
  const reached = new Set<number>();
  const waiting = new Map<number, PromiseWithResolvers<Decisions[]>>();
  const fail = (reason: string) => {
    loaded.reject(new NoAnswer(reason));
    for (const { reject } of waiting.values()) reject(new NoAnswer(reason));
    waiting.clear();
  };
  child.on("message", (message: FromJudge) => {
    if (message.type === "loaded") loaded.resolve(message);
    else if (message.type === "failed") fail(message.reason);
    else {
      for (const point of message.reached) reached.add(point);
      waiting.get(message.id)?.resolve(message.decisions);
      waiting.delete(message.id);
    }
  });
  child.on("error", (error) => fail(error.message));
  child.on("close", (code, signal) =>
    fail(`The process of ${name} ${signal ? `was ended by ${signal}` : `exited with code ${code}`}.`),
  );
  const send = (message: ToJudge) => {
    if (child.connected) child.send(message);
  };
  const inTime = async <T>(answer: Promise<T>, what: string, limitMs: number): Promise<T> => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`${name} did not ${what} within ${limitMs / 1000} s.`);
    }, limitMs);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  };
  send({ type: "load", mutated, dissects, sought });
  let last = 0;
  try {
    const { facts, dissection } = await inTime(loaded.promise, "load", LOADING_MS);
    const judgeOf =
      (mutant: number): Judge =>
      (functionName, columns, calls) => {
        const id = ++last;
        const answer = Promise.withResolvers<Decisions[]>();
        waiting.set(id, answer);
        if (!child.connected) fail(`The process of ${name} ended.`);
        send({ type: "judge", id, mutant, functionName, columns, calls });
        return inTime(answer.promise, `decide calls of ${functionName}`, timeoutMs);
      };
    return {
      facts,
      dissection,
      judge: judgeOf(0),
      judgeOf,
      reached,
      [Symbol.dispose]: () => void child.kill("SIGKILL"),
    };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}
