/** How long a process takes to drain at most, with room to spare below the 25 s that are promised. */
const DRAIN_MS = 24_000;

/** Resolves on the first SIGTERM or SIGINT. From then on a second SIGINT ends the process at once. */
export function shutdownRequested(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const ask = (signal: string) => {
      if (asked && signal === "SIGINT") process.exit(1);
      asked = true;
      resolve();
    };
    process.on("SIGINT", ask);
    process.on("SIGTERM", ask);
  });
}

/** Runs the closing work, and ends the process with 0 if that takes too long: what was not finished goes on at the next start. */
export async function drain(work: () => Promise<unknown>): Promise<void> {
  const limit = setTimeout(() => process.exit(0), DRAIN_MS);
  await work();
  clearTimeout(limit);
}
