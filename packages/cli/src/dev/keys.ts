import { spawnSync } from "node:child_process";
import { emitKeypressEvents, type Key } from "node:readline";
import { reasonOf } from "@patchbay/loading/failure";
import { paintStatus, print, printStatus } from "../output.ts";
import { askLine } from "../terminal.ts";

/** What a key does. A failure is printed. */
export interface KeyCommand {
  /** For the line that lists the keys. */
  label: string;
  run(): Promise<void> | void;
}

/** Runs commands on single terminal keys, until disposed. In between, it reads lines. */
export class TerminalKeys implements Disposable {
  readonly #commands: Readonly<Record<string, KeyCommand>>;
  readonly #asking = new Set<AbortController>();
  #closed = false;

  constructor(commands: Readonly<Record<string, KeyCommand>>) {
    this.#commands = commands;
    emitKeypressEvents(process.stdin);
    process.stdin.on("keypress", this.#onKey);
    process.on("SIGCONT", this.#listen);
    this.#listen();
  }

  /** True if keys can be read: a terminal on both sides, whose foreground process this is. */
  static get available(): boolean {
    return process.stdin.isTTY && process.stdout.isTTY && isInForeground();
  }

  /** The keys and their labels in one line. */
  static describe(commands: Readonly<Record<string, KeyCommand>>): string {
    return Object.entries(commands)
      .map(([key, { label }]) => `${key} ${label}`)
      .join(" · ");
  }

  /** Reads a line. Undefined when Ctrl-C, Ctrl-D or `signal` ends the question, or the keys are closed. */
  async ask(question: string, { signal }: { signal?: AbortSignal } = {}): Promise<string | undefined> {
    const asking = new AbortController();
    this.#asking.add(asking);
    try {
      const answer = await askLine(question, process.stdout, AbortSignal.any([asking.signal, signal ?? asking.signal]));
      if (answer === undefined) print(signal?.aborted ? "" : "\nCancelled.");
      return answer;
    } finally {
      this.#asking.delete(asking);
      this.#listen();
    }
  }

  /** Gives the terminal back: Ctrl-C is a signal again. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const asking of this.#asking) asking.abort();
    process.stdin.off("keypress", this.#onKey);
    process.off("SIGCONT", this.#listen);
    process.stdin.setRawMode(false).pause();
  }

  // The system stops a background process that changes the terminal.
  readonly #listen = (): void => {
    if (!this.#closed && isInForeground()) process.stdin.setRawMode(true).resume();
  };

  readonly #onKey = (_text: string | undefined, { name = "", ctrl, meta }: Key): void => {
    if (this.#asking.size > 0) return;
    // The terminal sends no signals while it passes single keys.
    if (ctrl && name === "c") process.kill(process.pid, "SIGINT");
    else if (ctrl && name === "z") this.#suspend();
    else if (!ctrl && !meta) void this.#run(name);
  };

  #suspend(): void {
    process.stdin.setRawMode(false).pause();
    // To the whole group, as the terminal does: npm waits in it too.
    process.kill(0, "SIGTSTP");
  }

  async #run(key: string): Promise<void> {
    if (!Object.hasOwn(this.#commands, key)) return;
    try {
      await this.#commands[key]?.run();
    } catch (error) {
      printStatus(`${paintStatus("red", "error:")} ${reasonOf(error)}`);
    }
  }
}

/** False for a job that a shell started with `&` or continued with `bg`. True where `ps` is missing, as in small images. */
function isInForeground(): boolean {
  const { stdout, status } = spawnSync("ps", ["-o", "stat=", "-p", String(process.pid)], { encoding: "utf8" });
  return status !== 0 || stdout.includes("+");
}
