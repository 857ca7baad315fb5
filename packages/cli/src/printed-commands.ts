/** The argument as a shell reads it back. */
const shellQuote = (text: string): string =>
  /^[A-Za-z0-9_./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that connects functions to an agent. */
export function connectCommand({ url, agent }: { url: string; agent: string }): string {
  return `PATCHBAY_RUNTIME_KEY=... patchbay connect service.ts --url ${shellQuote(url)} --agent ${shellQuote(agent)}`;
}
