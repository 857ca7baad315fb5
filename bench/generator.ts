import { fileURLToPath } from "node:url";
import type { Job, Load } from "./jobs.ts";
import { start } from "./process.ts";

export type Generator = Awaited<ReturnType<typeof startGenerator>>;

/** Starts the process that generates the load. */
export async function startGenerator() {
  const started = await start(fileURLToPath(new URL("load.ts", import.meta.url)), [], { ipc: true });
  return {
    /** Throws on any wrong answer: a round with errors is not a measurement. */
    async run(job: Job): Promise<Load> {
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
