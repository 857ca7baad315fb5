import type { Expectation, LoadRequest, Moment } from "./jobs.ts";
import type { Model } from "./models.ts";

/** A measured system: how it is started, and how it is asked. */
export interface Target {
  letter: "A" | "B" | "C";
  name: string;
  /** Starts all of its processes at once and does not wait until they serve. */
  start(options: TargetOptions): Promise<System>;
}

export interface TargetOptions {
  /** The provider stand-in's address. */
  provider: string;
  /** A command put around the server process: a tracer. */
  under?: readonly string[];
  /** Where the server leaves a CPU profile when it is stopped. */
  profile?: string;
}

export interface System extends AsyncDisposable {
  readonly port: number;
  /** When the first of its processes was started, on this process's clock. */
  readonly startedAt: number;
  /** Server and functions. */
  pids(): readonly number[];
  /** Requests that ask for one function call and then the model's tokens. */
  ask(question: Question): Promise<Asking>;
}

export interface Question {
  model: Model;
  /** One JSON body, or events with each token. */
  form: "json" | "stream";
  /** Messages of the conversation before the question. Default none. */
  history?: number;
  /** How many different conversations there are. Default 1. */
  conversations?: number;
}

/** What the load generator must know of a target's requests and answers. */
export interface Asking {
  requests: readonly LoadRequest[];
  expect: readonly Expectation[];
  moments: Partial<Record<Moment, string>>;
}
