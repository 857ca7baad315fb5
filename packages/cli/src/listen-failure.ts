import { CommandFailure } from "./failure.ts";

/** Runs `start`, and says what to do where the address cannot be listened on. */
export async function explainListening<T>({ host, port }: { host: string; port: number }, start: () => Promise<T>) {
  try {
    return await start();
  } catch (error) {
    const reason = explain(error instanceof Error && "code" in error ? error.code : undefined, host, port);
    throw reason === undefined ? error : new CommandFailure(reason, { cause: error });
  }
}

function explain(code: unknown, host: string, port: number): string | undefined {
  if (code === "EADDRINUSE")
    return `Port ${port} on ${host} is taken. Stop what runs there, or choose another port: --port N (0 picks a free one).`;
  if (code === "EACCES") return `Port ${port} may not be opened by this user. Choose one above 1023: --port N.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `${host} is no address of this machine. Choose another: --host 127.0.0.1 (this machine alone) or 0.0.0.0 (every network).`;
  return undefined;
}
