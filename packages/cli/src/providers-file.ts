import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Endpoint, Log, ProviderSettings } from "@patchbay/control-plane";
import { PROVIDERS } from "@patchbay/protocol/providers";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import type { Environment } from "./config.ts";
import { secretFrom } from "./secret-files.ts";

/** How often the file and the keys that it names are read again. */
const POLL_MS = 2_000;

/** Variables that configure providers, which exclude a file. */
const VARIABLES = [
  ...Object.values(PROVIDERS).flatMap(({ env }) => [`${env}_API_KEY`, `${env}_BASE_URL`]),
  "OPENAI_API",
  "PATCHBAY_PROVIDER",
  "PATCHBAY_MODEL",
];

/** The endpoints of a file, which `watch` keeps up to date. */
export interface ProvidersFile {
  settings: ProviderSettings;
  /** Reads the file again while the process runs. A faulty one is logged, and the endpoints stay as they are. */
  watch(log: Log): Disposable;
}

/** Reads the file of `--providers`. Throws one failure that names every fault, and no secret. */
export async function readProvidersFile(file: string, environment: Environment): Promise<ProvidersFile> {
  const { parseEndpoints } = await import("@patchbay/control-plane");
  const named = new Set<string>();
  const read = (): Endpoint[] =>
    parseEndpoints(readFileSync(file, "utf8"), (source) => {
      if ("file" in source) return secretFrom("keyFile", source.file);
      named.add(source.variable);
      const value = environment[source.variable]?.trim();
      if (!value) throw new Error(`keyEnv names ${source.variable}, which is not set`);
      return value;
    });
  let endpoints: readonly Endpoint[];
  try {
    endpoints = read();
  } catch (error) {
    throw new CommandFailure(`--providers ${file} cannot be used: ${reasonOf(error)}`);
  }
  const set = VARIABLES.filter((name) => environment[name]?.trim() && !named.has(name));
  if (set.length > 0)
    throw new CommandFailure(
      `--providers ${file} and ${set.join(", ")} both configure providers. Remove the variables, or name them in the file (keyEnv).`,
    );

  let fault = "";
  function reload(log: Log): void {
    try {
      const next = read();
      fault = "";
      if (isDeepStrictEqual(next, endpoints)) return;
      endpoints = next;
      log.info("providers file reloaded", { endpoints: next.map(({ name }) => name).join(", ") });
    } catch (error) {
      // Once, and not at each poll.
      if (fault !== (fault = reasonOf(error)))
        log.warn("providers file not reloaded: the endpoints stay as they were", { file, cause: fault });
    }
  }
  return {
    settings: { offline: false, endpoints: () => endpoints },
    watch(log) {
      const timer = setInterval(() => reload(log), POLL_MS).unref();
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
  };
}
