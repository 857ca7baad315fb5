import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import { CommandFailure, reasonOf } from "./failure.ts";

export type Environment = Record<string, string | undefined>;

/** The environment this process was started with, and what `.env` in the working folder adds to it. */
export function readEnvironment(): Environment {
  if (existsSync(".env")) {
    try {
      process.loadEnvFile(".env");
    } catch (error) {
      throw new CommandFailure(`.env in this folder cannot be read: ${reasonOf(error)}`);
    }
  }
  return process.env;
}

/** Removes variables of options that mean "not set", which commander would take as set: empty ones, and flags that say no. */
export function dropUnset(environment: Environment, command: Command): void {
  for (const { envVar = "", required, optional } of command.options) {
    const value = environment[envVar];
    const isFlag = !required && !optional;
    if (value === "" || (isFlag && /^(0|false|no|off)$/i.test(value ?? ""))) delete environment[envVar];
  }
  for (const child of command.commands) dropUnset(environment, child);
}

/** What the environment says of model providers. */
export interface ProviderSettings {
  anthropic?: { apiKey: string; baseUrl?: string };
  openai?: { apiKey: string; baseUrl?: string; api: "responses" | "chat" };
  gemini?: { apiKey: string; baseUrl?: string };
  offline: boolean;
  default: { provider?: string; model?: string };
  prices?: unknown;
}

const PROVIDERS = ["anthropic", "openai", "gemini", "offline"];

/**
 * Reads the providers' settings; empty values count as unset. `offlineFallback` chooses the offline model where no provider
 * is named and none has a key. Throws one failure that names every bad value.
 */
export function readProviderConfig(
  env: Environment,
  { offlineFallback = false }: { offlineFallback?: boolean } = {},
): ProviderSettings {
  const faults: string[] = [];
  const oneOf = (name: string, allowed: string[]) => {
    const value = env[name] || undefined;
    if (value !== undefined && !allowed.includes(value)) faults.push(`${name} must be one of ${allowed.join(", ")}`);
    return value;
  };
  const account = (prefix: string) => {
    const baseUrl = env[`${prefix}_BASE_URL`] || undefined;
    if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
      faults.push(`${prefix}_BASE_URL must be an http:// or https:// address`);
    const apiKey = env[`${prefix}_API_KEY`]?.trim();
    return apiKey ? { apiKey, ...(baseUrl !== undefined && { baseUrl }) } : undefined;
  };

  const anthropic = account("ANTHROPIC");
  const openai = account("OPENAI");
  const gemini = account("GEMINI");
  const api = oneOf("OPENAI_API", ["responses", "chat"]) ?? (openai?.baseUrl === undefined ? "responses" : "chat");
  const named = oneOf("PATCHBAY_PROVIDER", PROVIDERS);
  const model = env["PATCHBAY_MODEL"] || undefined;
  const prices = env["PATCHBAY_PRICES"] ? readJsonFile("PATCHBAY_PRICES", env["PATCHBAY_PRICES"], faults) : undefined;
  if (faults.length > 0) throw new CommandFailure(`The environment is wrong: ${faults.join("; ")}.`);

  const provider = named ?? (offlineFallback && !anthropic && !openai && !gemini ? "offline" : undefined);
  return {
    ...(anthropic && { anthropic }),
    ...(openai && { openai: { ...openai, api: api === "chat" ? "chat" : "responses" } }),
    ...(gemini && { gemini }),
    offline: provider === "offline",
    default: { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) },
    ...(prices !== undefined && { prices }),
  };
}

function readJsonFile(name: string, file: string, faults: string[]): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    faults.push(`${name} must name a readable JSON file (${reasonOf(error)})`);
    return undefined;
  }
}
