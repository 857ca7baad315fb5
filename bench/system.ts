import type { Expectation, LoadRequest, Moment } from "./jobs.ts";
import type { Model } from "./models.ts";

/** A measured system. */
export interface Target {
  letter: "A" | "B" | "C";
  name: string;
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
}

export interface System extends AsyncDisposable {
  readonly port: number;
  /** When the first of its processes was started, on this process's clock. */
  readonly startedAt: number;
  /** Processes of server and functions. */
  pids(): readonly number[];
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
