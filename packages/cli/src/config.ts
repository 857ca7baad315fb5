import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { ProviderSettings } from "@patchbay/control-plane";
import { MODEL_NAME } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { PROVIDER_NAMES, type ProviderName, PROVIDERS } from "@patchbay/protocol/providers";
import type { Command } from "commander";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import { readSecretFiles } from "./secret-files.ts";

export type Environment = Record<string, string | undefined>;

/** This process's environment, with additions from `.env` in the working folder and secrets from files. */
export function readEnvironment(): Environment {
  if (existsSync(".env")) {
    if (statSync(".env").isDirectory())
      throw new CommandFailure(
        `${resolve(".env")} is a folder, but settings are read from a file of this name. Rename the folder.`,
      );
    try {
      process.loadEnvFile(".env");
    } catch (error) {
      throw new CommandFailure(`${resolve(".env")} cannot be read: ${reasonOf(error)}`);
    }
  }
  readSecretFiles(process.env);
  return process.env;
}

/** Removes variables that commander would read as set options: empty ones, and flags with the value 0, false, no or off. */
export function dropUnset(environment: Environment, command: Command): void {
  for (const { envVar = "", required, optional } of command.options) {
    const value = environment[envVar];
    const isFlag = !required && !optional;
    if (value === "" || (isFlag && /^(0|false|no|off)$/i.test(value ?? ""))) delete environment[envVar];
  }
  for (const child of command.commands) dropUnset(environment, child);
}

/**
 * Reads the providers' settings; empty values count as unset. With `offlineFallback` the offline model answers when no
 * provider is named and none has a key. Throws one failure that names every bad value.
 */
export function readProviderConfig(
  env: Environment,
  { offlineFallback = false }: { offlineFallback?: boolean } = {},
): ProviderSettings {
  const faults: string[] = [];
  const read = (name: string) => env[name]?.trim() || undefined;
  const oneOf = (name: string, allowed: string[]) => {
    const value = read(name);
    if (value !== undefined && !allowed.includes(value)) faults.push(`${name} must be one of ${allowed.join(", ")}`);
    return value;
  };
  const accounts = PROVIDER_NAMES.flatMap((name) => {
    const { env: prefix, keyOptional } = PROVIDERS[name];
    const [apiKey, baseUrl] = [read(`${prefix}_API_KEY`), read(`${prefix}_BASE_URL`)];
    if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
      faults.push(`${prefix}_BASE_URL must be an http:// or https:// address`);
    const isConfigured = (apiKey ?? (keyOptional ? baseUrl : undefined)) !== undefined;
    return isConfigured ? [[name, present({ apiKey, baseUrl })] as const] : [];
  });
  const { openai, ...others }: Record<string, { apiKey?: string; baseUrl?: string }> = Object.fromEntries(accounts);
  const api = oneOf("OPENAI_API", ["responses", "chat"]) ?? (openai?.baseUrl === undefined ? "responses" : "chat");
  const provider = oneOf("PATCHBAY_PROVIDER", [...PROVIDER_NAMES, "offline"]);
  const model = read("PATCHBAY_MODEL");
  if (model !== undefined && !MODEL_NAME.test(model))
    faults.push("PATCHBAY_MODEL must be a model name of 1 to 200 letters, digits and ._:@/-, such as gpt-6-luna");
  if (faults.length > 0) throw new CommandFailure(`Invalid environment: ${faults.join("; ")}.`);

  return {
    ...(others as Pick<ProviderSettings, ProviderName>),
    ...(openai && { openai: { ...openai, api: api === "chat" ? "chat" : "responses" } }),
    offline: provider === "offline" || offlineFallback,
    default: present({ provider, model }),
  };
}
