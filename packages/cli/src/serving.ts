import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ProviderSettings, QueryLine } from "@patchbay/control-plane";
import { present } from "@patchbay/kit";
import { type Environment, readProviderConfig } from "./config.ts";
import { readPrices } from "./options.ts";
import { type ProvidersFile, readProvidersFile } from "./providers-file.ts";
import { PROVIDER_KEYS } from "./secret-files.ts";

/** Longest time to drain: below the 25 s that the command promises. */
const DRAIN_MS = 24_000;

/** Resolves on the first SIGTERM or SIGINT. A second SIGINT then ends the process immediately. */
export function shutdownRequested(): Promise<void> {
  return new Promise((resolve) => {
    let requested = false;
    const request = (signal: string) => {
      if (requested && signal === "SIGINT") process.exit(1);
      requested = true;
      resolve();
    };
    process.on("SIGINT", request);
    process.on("SIGTERM", request);
  });
}

const PARENT_POLL_MS = 1_000;

/** Resolves when the process that started this one has ended: npm passes no signal on, and would leave this process behind. */
export function parentGone(): Promise<void> {
  const { ppid } = process;
  return new Promise((resolve) => {
    const poll = setInterval(() => {
      if (process.ppid === ppid) return;
      clearInterval(poll);
      resolve();
    }, PARENT_POLL_MS);
    poll.unref();
  });
}

/** Closes with `close`, and ends the process with 0 if that takes too long: unfinished runs continue at the next start. */
export async function drain(close: () => Promise<unknown>): Promise<void> {
  const limit = setTimeout(() => process.exit(0), DRAIN_MS);
  await close();
  clearTimeout(limit);
}

/** Counts the queries in progress from a control plane's events. */
export function countOpenQueries() {
  const open = new Set<string>();
  return {
    observe({ kind, runId }: QueryLine): void {
      if (kind === "query") open.add(runId);
      else if (kind !== "call") open.delete(runId);
    },
    count: (): number => open.size,
  };
}

/** `ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY`. */
export const KEYS = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(PROVIDER_KEYS);

/** How `serve` answers without a key of a model provider. */
export const WITHOUT_KEY = "PATCHBAY_PROVIDER=offline to try it without a language model";

/** The default model provider for people, with what to do when it is not a real one. */
export function describeProvider(provider: string): string {
  if (provider === "none") return `none, so queries fail; set ${KEYS}, or ${WITHOUT_KEY}`;
  if (provider === "offline") return `offline: word matching, not a language model; set ${KEYS} for a real one`;
  return provider;
}

/** The models of `serve` and `dev`: the endpoints of a file, else the providers of the environment. */
export async function modelsOf(
  { providers: file }: { providers?: string },
  environment: Environment,
  options: { offlineFallback?: boolean } = {},
): Promise<ProvidersFile> {
  if (file !== undefined) return readProvidersFile(file, environment);
  return { settings: readProviderConfig(environment, options), watch: () => new DisposableStack() };
}

/** The options of `serve` and `dev` that a control plane has under other names. */
interface ServingOptions {
  host: string;
  port: number;
  prices?: string;
  arrivalSeconds: number;
  providerIdle: number;
  corsOrigin?: string[];
}

/** What `serve` and `dev` give their control planes. */
export async function planeOptions(options: ServingOptions, providers: ProviderSettings) {
  const { host, port, arrivalSeconds, providerIdle, corsOrigin: corsOrigins, prices } = options;
  // The console as built in this repository; an installed package contains it.
  const folder = fileURLToPath(new URL("../../console/dist", import.meta.url));
  return {
    host,
    port,
    providers: { ...providers, ...present({ prices: await readPrices(prices) }) },
    arrivalMs: arrivalSeconds * 1000,
    providerIdleMs: providerIdle * 1000,
    ...present({ corsOrigins }),
    ...(existsSync(folder) && { consoleFiles: folder }),
  };
}
