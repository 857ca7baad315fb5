import { fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Manifest } from "@patchbay/protocol";
import { CommandFailure } from "./failure.ts";
import type { FromRuntime, Link, ToRuntime } from "./dev/messages.ts";

/** A process that runs the functions of a file. */
export interface RuntimeChild {
  /** Rejects with a CommandFailure when the file does not load. */
  readonly loaded: Promise<Manifest>;
  /** Resolves when the functions can be called; rejects with a CommandFailure when they never will. */
  connect(link: Link): Promise<void>;
  /** From now on it does not tell of losing the control plane. */
  expectLoss(): void;
  /** Finishes what it holds, takes nothing new, and ends. */
  stop(): void;
  kill(): void;
  /** Resolves when the process is gone, with words for how it ended. */
  readonly ended: Promise<string>;
}

/** Beside this file, also once bundled: chunks lie directly in dist, as this one does in src. */
const entry = fileURLToPath(new URL(`./runtime-process${extname(import.meta.filename)}`, import.meta.url));

/** Starts a fresh process for `file`. What the functions print goes to stderr: stdout belongs to the command. */
export function launchRuntime(file: string): RuntimeChild {
  const child = fork(entry, [file], { stdio: ["ignore", 2, 2, "ipc"], execArgv: [] });
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
  // Either may fail before anyone looks at it.
  loaded.promise.catch(() => {});
  connected.promise.catch(() => {});

  child.on("message", (message: FromRuntime) => {
    if (message.type === "loaded") loaded.resolve(message.manifest);
    else if (message.type === "connected") connected.resolve();
    else fail(message.reason);
  });
  child.on("error", (error) => fail(error.message));
  // `close` comes after the last message was read, `exit` may come before.
  child.on("close", (code, signal) => {
    const how = signal ? `was ended by ${signal}` : `exited with code ${code}`;
    fail(`The process of the functions ${how} before it was connected.`);
    ended.resolve(how);
  });

  return {
    loaded: loaded.promise,
    connect(link) {
      send({ type: "connect", link });
      return connected.promise;
    },
    expectLoss: () => send({ type: "expectLoss" }),
    stop: () => send({ type: "stop" }),
    kill: () => void child.kill("SIGKILL"),
    ended: ended.promise,
  };
}
