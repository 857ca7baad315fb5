import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const CHILD = fileURLToPath(new URL("store-child.ts", import.meta.url));

export interface Child {
  /** Lines of its output until it ends. */
  lines: AsyncIterable<string>;
  kill(): Promise<void>;
  exit: Promise<number | null>;
}

/** Caches compiled code next to the database, or in `code`: it halves the start of a child process. */
export function spawnChild(
  mode: "write" | "spend" | "lock" | "open",
  url: string,
  code = `${url.slice("sqlite:".length)}.code`,
): Child {
  const env = { ...process.env, NODE_COMPILE_CACHE: code };
  // Vitest waits until nothing holds its worker's stderr, so a child that a failed test leaves behind must not inherit it.
  const child = spawn(process.execPath, [CHILD, mode, url], { env, stdio: ["ignore", "pipe", "pipe"] });
  child.stderr.pipe(process.stderr, { end: false });
  const exit = exitOf(child);
  return {
    lines: createInterface({ input: child.stdout }),
    exit,
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}
