import { createInterface } from "node:readline/promises";

/** Reads a line from the terminal. Undefined when Ctrl-C, Ctrl-D or `signal` ends the question. */
export async function askLine(
  question: string,
  output: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<string | undefined> {
  const left = new AbortController();
  const ended = AbortSignal.any([signal, left.signal]);
  const lines = createInterface({ input: process.stdin, output });
  for (const end of ["SIGINT", "close"] as const) lines.once(end, () => left.abort());
  try {
    return (await lines.question(question, { signal: ended })).trim();
  } catch (error) {
    if (!ended.aborted) throw error;
    return undefined;
  } finally {
    lines.close();
  }
}
