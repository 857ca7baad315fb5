import { spawn } from "node:child_process";
import type { ExampleQuery, Manifest } from "@patchbay/protocol";
import type { DevCredentials } from "../dev/credentials.ts";
import type { KeyCommand } from "../dev/keys.ts";
import { exampleList } from "../dev/ready-block.ts";
import { paintStatus, print, printStatus } from "../output.ts";
import { queryFromTerminal } from "./query.ts";

export interface DevService {
  url: string;
  credentials: DevCredentials;
  /** The functions that serve now. */
  manifest(): Manifest;
  /** Creates a sign-in link, which replaces the one before. */
  signInLink(): Promise<string>;
  restart(): Promise<void>;
  /** Prints the credentials, the functions and how to query them. */
  help(): void;
}

/** The keys in `patchbay dev`. */
export function devKeys(service: DevService, ask: Ask): Record<string, KeyCommand> {
  return {
    o: { label: "open", run: async () => openInBrowser(await service.signInLink()) },
    q: { label: "query", run: () => askQuery(service, ask) },
    r: { label: "restart", run: () => service.restart() },
    l: { label: "new sign-in link", run: async () => print(`Open ${await service.signInLink()}`) },
    h: { label: "help", run: () => service.help() },
    c: { label: "quit", run: () => void process.kill(process.pid, "SIGINT") },
  };
}

/** Reads a line from the terminal; undefined when the question was ended. */
type Ask = (question: string, options?: { signal: AbortSignal }) => Promise<string | undefined>;

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };

function openInBrowser(link: string): void {
  const opener = OPENERS[process.platform] ?? "xdg-open";
  print(`Opening ${link}`);
  const failed = (reason: string) =>
    printStatus(`${paintStatus("yellow", "warning")} ${opener} ${reason}. Open the link in a browser yourself.`);
  const child = spawn(opener, [link], { stdio: "ignore", detached: true });
  child.on("error", (error) => failed(`could not be started: ${error.message}`));
  // Windows' explorer exits with 1 also when it opened the link.
  child.on("exit", (code) => opener !== "explorer" && code && failed(`exited with code ${code}`));
  child.unref();
}

async function askQuery({ url, credentials, manifest }: DevService, ask: Ask): Promise<void> {
  const examples = manifest().exampleQueries ?? [];
  if (examples.length > 0) print(exampleList(examples));
  const typed = await ask(examples.length > 0 ? `Query, or 1 to ${examples.length}: ` : "Query: ");
  if (!typed) return;
  const example = examples[Number(typed) - 1] ?? (await withRole(typed, manifest(), ask));
  if (!example) return;
  const { query, role, context } = example;
  await queryFromTerminal(
    { url, agent: credentials.agentId, key: credentials.apiKey },
    { query, role, ...(context && { contextJson: JSON.stringify(context) }) },
    ask,
  );
}

async function withRole(query: string, manifest: Manifest, ask: Ask): Promise<ExampleQuery | undefined> {
  const named = manifest.functions.flatMap(({ roles }) => (roles === "everyone" ? [] : roles));
  const roles = [...new Set([...(manifest.roles ?? []), ...named])];
  if (roles.length === 0) return { query };
  const role = await ask(`Role (${roles.join(", ")}; empty for none): `);
  return role === undefined ? undefined : { query, ...(role !== "" && { role }) };
}
