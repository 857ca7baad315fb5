import { fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Manifest } from "@patchbay/protocol";
import { startEnvironment } from "./config.ts";
import { CommandFailure } from "./failure.ts";

/** Where a runtime connects, and as what. Sent over the channel between the two processes, never on a command line. */
export interface ConnectionTarget {
  url: string;
  agentId: string;
  key: string;
}

/** Messages of `dev` to the process that runs the functions. */
export type ToRuntime =
  | { type: "connect"; target: ConnectionTarget }
  /** The control plane is about to close: a lost connection is not to be logged. */
  | { type: "closing" }
  | { type: "stop" };

/** Messages of that process to `dev`. */
export type FromRuntime =
  /** A file that decides what runs; sent before it is loaded. */
  | { type: "file"; path: string }
  | { type: "loaded"; manifest: Manifest }
  | { type: "connected" }
  /** It cannot serve and is about to end; `reason` is for people and may have several lines. */
  | { type: "failed"; reason: string };

/** A process that runs the functions of a file. */
export interface RuntimeChild {
  /** Rejects with a CommandFailure when the file does not load. */
  readonly loaded: Promise<Manifest>;
  /** Resolves when the functions can be called; rejects with a CommandFailure when the process fails before. */
  connect(target: ConnectionTarget): Promise<void>;
  /** From now on it does not log that the control plane is gone. */
  expectClose(): void;
  /** Finishes its calls, accepts no new ones, and ends. */
  stop(): void;
  kill(): void;
  /** Resolves when the process has ended, with a phrase that says how. */
  readonly ended: Promise<string>;
}

export interface RuntimeOptions {
  onFile: (path: string) => void;
  /** Sends spans of the functions. */
  otel: boolean;
}

/** The argument after the file with which the process sends spans. */
export const OTEL = "--otel";

/** Next to this file, also once bundled: chunks are directly in dist, as this file is in src. */
const entry = fileURLToPath(new URL(`./runtime-process${extname(import.meta.filename)}`, import.meta.url));

/** Starts a new process for `file`; `onFile` gets the files that it loads. Output of the functions goes to stderr: stdout belongs to the command. */
export function launchRuntime(file: string, { onFile, otel }: RuntimeOptions): RuntimeChild {
  const child = fork(entry, [file, ...(otel ? [OTEL] : [])], {
    stdio: ["ignore", 2, 2, "ipc"],
    execArgv: [],
    env: startEnvironment,
  });
  const send = (message: ToRuntime) => {
    if (child.connected) child.send(message);
  };
  const loaded = Promise.withResolvers<Manifest>();
  const connected = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const fail = (reason: string) => {
    loaded.reject(new CommandFailure(reason));
    connected.reject(new CommandFailure(reason));
  };
  // Either may reject before it is awaited, which would end this process.
  loaded.promise.catch(() => {});
  connected.promise.catch(() => {});

  child.on("message", (message: FromRuntime) => {
    if (message.type === "file") onFile(message.path);
    else if (message.type === "loaded") loaded.resolve(message.manifest);
    else if (message.type === "connected") connected.resolve();
    else fail(message.reason);
  });
  child.on("error", (error) => fail(error.message));
  // `close` follows the last message; `exit` may precede it.
  child.on("close", (code, signal) => {
    const how = signal ? `was ended by ${signal}` : `exited with code ${code}`;
    fail(`The process of the functions ${how} before it was connected.`);
    ended.resolve(how);
  });

  return {
    loaded: loaded.promise,
    connect(target) {
      send({ type: "connect", target });
      return connected.promise;
    },
    expectClose: () => send({ type: "closing" }),
    stop: () => send({ type: "stop" }),
    kill: () => void child.kill("SIGKILL"),
    ended: ended.promise,
  };
}
