import { fileURLToPath } from "node:url";
import type { Job, Load } from "./jobs.ts";
import { start } from "./process.ts";

/** The process that makes the load. */
export interface Generator extends AsyncDisposable {
  /** Throws when any answer was wrong: a round with errors measures nothing. */
  run(job: Job): Promise<Load>;
}

export async function startGenerator(): Promise<Generator> {
  const started = await start(fileURLToPath(new URL("load.ts", import.meta.url)), [], { ipc: true });
  return {
    async run(job) {
      const { promise, resolve, reject } = Promise.withResolvers<Load>();
      started.child.once("message", (answer: { load: Load } | { error: string }) => {
        if ("error" in answer) reject(new Error(answer.error));
        else if (answer.load.errors > 0)
          reject(
            new Error(
              `${answer.load.errors} of ${answer.load.done + answer.load.errors} queries failed. First: ${answer.load.firstError}`,
            ),
          );
        else resolve(answer.load);
      });
      started.child.send(job);
      return promise;
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
