import { readFileSync } from "node:fs";
import { PROVIDERS } from "@patchbay/protocol/providers";
import { reasonOf, CommandFailure, UsageFailure } from "@patchbay/loading/failure";

/** The variables with the keys of providers. */
export const PROVIDER_KEYS = Object.values(PROVIDERS).map(({ env }) => `${env}_API_KEY`);

/** The variables with secrets, or with addresses and headers that hold some. Each is also read from the file that a variable with `_FILE` at the end names. */
export const SECRETS = [
  "PATCHBAY_DATABASE",
  "PATCHBAY_NATS",
  "PATCHBAY_API_KEY",
  "PATCHBAY_RUNTIME_KEY",
  "PATCHBAY_FLOW_KEY",
  "PATCHBAY_SERVICE_TOKEN",
  "PATCHBAY_PROXY",
  "PATCHBAY_METRICS_TOKEN",
  "PATCHBAY_INIT_API_KEY",
  "PATCHBAY_INIT_RUNTIME_KEY",
  "PATCHBAY_INIT_OWNER_PASSWORD",
  "PATCHBAY_INIT_SERVICE_TOKEN",
  ...PROVIDER_KEYS,
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];

/** What this process has read from files. */
const fromFiles = new Map<string, string>();

/**
 * Sets the secrets whose files are named, without a final line break. Processes that this one starts get the values,
 * and not the file names. A later call reads the files again.
 */
export function readSecretFiles(environment: Record<string, string | undefined>): void {
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const file = environment[variable];
    if (file === undefined || file === "") continue;
    const given = environment[name] ?? "";
    if (given !== "" && given !== fromFiles.get(name))
      throw new UsageFailure(`${name} and ${variable} are both set. Remove one of them.`);
    const value = secretFrom(variable, file);
    fromFiles.set(name, value);
    environment[name] = value;
    delete environment[variable];
  }
}

/** A file's content without its final line break. `variable` is what names the file. */
export function secretFrom(variable: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandFailure(`${variable} names a file that cannot be read: ${reasonOf(error)}`);
  }
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw new CommandFailure(`${variable} names an empty file: ${file}`);
  return value;
}

/** The flow keys in an environment, the newest first: one in each line. */
export const flowKeysIn = (environment: Record<string, string | undefined>): string[] =>
  (environment["PATCHBAY_FLOW_KEY"] ?? "").split(/\s+/).filter((key) => key !== "");
