import type { Expectation, LoadRequest, Moment } from "./jobs.ts";
import type { Model } from "./models.ts";

/** The measured systems, in the order of a round. */
export const LETTERS = ["A", "B", "C", "P", "N", "F", "L"] as const;
export type Letter = (typeof LETTERS)[number];
/** The systems that store their data on Postgres. */
export const ON_POSTGRES: readonly Letter[] = ["P", "N", "F", "L"];

/** A measured system. */
export interface Target {
  letter: Letter;
  name: string;
  /** Measures only JSON queries: no streams and no long threads. */
  queriesOnly?: true;
  /** Starts all its processes without waiting until they serve. */
  start(options: TargetOptions): Promise<System>;
}

export interface TargetOptions {
  /** Address of the stand-in provider. */
  provider: string;
  /** A command that runs the server process: a tracer. */
  under?: readonly string[];
  /** Folder for the CPU profile that the server writes when it stops. */
  profile?: string;
  /** Address of a module that the server and the functions load before anything else. */
  preload?: string;
}

export interface System extends AsyncDisposable {
  /** One of each replica. */
  readonly ports: readonly number[];
  /** When the first of its processes was started, on this process's clock. */
  readonly startedAt: number;
  /** Processes of servers, functions and bus. */
  pids(): readonly number[];
  /** CPU time so far of the database server. `pids` does not list it. */
  databaseCpuMs?(): number;
  /** Requests that lead to one function call and then the model's tokens. */
  ask(question: Question): Promise<Asking>;
}

export interface Question {
  model: Model;
  /** One JSON body, or events with each token. */
  form: "json" | "stream";
  /** Messages of the conversation before the question. Default none. */
  history?: number;
  /** Number of different conversations. Default 1. */
  conversations?: number;
}

/** A target's requests and expected answers, for the load generator. */
export interface Asking {
  requests: readonly LoadRequest[];
  expect: readonly Expectation[];
  moments: Partial<Record<Moment, string>>;
}
