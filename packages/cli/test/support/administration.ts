import { runCommand, temporaryFolder } from "./command.ts";

/** Runs administration commands on one data folder and returns their JSON. */
export async function administration({ env = {} }: { env?: Record<string, string> } = {}) {
  const folder = await temporaryFolder();
  const run = (...args: string[]) => runCommand([...args, "--data-dir", folder.path], { env });
  return {
    run,
    folder: folder.path,
    async json(...args: string[]): Promise<Record<string, string> & { items: Record<string, unknown>[] }> {
      const { code, stdout, stderr } = await run(...args, "--json");
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
