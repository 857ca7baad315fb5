import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Manifest } from "@patchbay/protocol";
import { startEnvironment } from "@patchbay/loading/config";
import { CommandFailure } from "@patchbay/loading/failure";

/** Where a runtime connects, and as what. Sent over the channel between the two processes, never on a command line. */
export interface ConnectionTarget {
  url: string;
  agentId: string;
  key: string;
}

/** Messages from `dev` to the functions process. */
export type ToRuntime =
  | { type: "connect"; target: ConnectionTarget; inspect?: number | undefined }
  /** The access lock has changed: report it, with the functions as they are. */
  | { type: "relock" }
  /** The control plane will close: do not log a lost connection. */
  | { type: "closing" }
  | { type: "stop" };

/** Messages from the functions process to `dev`. */
export type FromRuntime =
  /** A file that decides what runs; sent before it is loaded. */
  | { type: "file"; path: string }
  /** The access lock that it reports, also before the file exists. */
  | { type: "lock"; path: string }
  | { type: "loaded"; manifest: Manifest }
  | { type: "connected" }
  /** It cannot serve and will end; `reason` is for people and may have several lines. */
  | { type: "failed"; reason: string };

/** A process that runs a file's functions. */
export interface RuntimeChild {
  /** Rejects with a CommandFailure when the file does not load. */
  readonly loaded: Promise<Manifest>;
  /** Resolves when the functions can be called; rejects with a CommandFailure when the process fails before. */
  connect(target: ConnectionTarget): Promise<void>;
  /** Reports the access lock again, which has changed. */
  relock(): void;
  /** From now on it does not log a lost control plane. */
  expectClose(): void;
  /** Finishes its calls, accepts no new ones, and ends. */
  stop(): void;
  kill(): void;
  /** Resolves when the process has ended, with a phrase that says how. */
  readonly ended: Promise<string>;
}

export interface RuntimeOptions {
  onFile: (path: string) => void;
  /** Called with a lock file that the process reports. */
  onLock: (path: string) => void;
  /** Sends function spans. */
  otel: boolean;
  /** Port for a debugger, on 127.0.0.1. */
  inspect?: number | undefined;
}

/** The argument after the file with which the process sends spans. */
export const OTEL = "--otel";

/** No other runtime serves this control plane, and the next process accepts the results of the one before. */
const FLOW_KEY = randomBytes(32).toString("base64url");

/** Next to this file, also once bundled: chunks are directly in dist, as this file is in src. */
const entry = fileURLToPath(new URL(`./runtime-process${extname(import.meta.filename)}`, import.meta.url));

/**
 * Starts a new process for `file`; `onFile` gets the files that it loads. Function output goes to stderr: stdout
 * belongs to the command.
 */
export function launchRuntime(file: string, { onFile, onLock, otel, inspect }: RuntimeOptions): RuntimeChild {
  const child = fork(entry, [file, ...(otel ? [OTEL] : [])], {
    stdio: ["ignore", 2, 2, "ipc"],
    execArgv: [],
    env: { PATCHBAY_FLOW_KEY: FLOW_KEY, ...startEnvironment },
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
    else if (message.type === "lock") onLock(message.path);
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
      send({ type: "connect", target, inspect });
      return connected.promise;
    },
    relock: () => send({ type: "relock" }),
    expectClose: () => send({ type: "closing" }),
    stop: () => send({ type: "stop" }),
    kill: () => void child.kill("SIGKILL"),
    ended: ended.promise,
  };
}
