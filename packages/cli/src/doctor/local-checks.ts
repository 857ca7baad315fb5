import packageJson from "../../package.json" with { type: "json" };
import { existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { resolve } from "node:path";
import type { Admin, Agent } from "@patchbay/control-plane/admin";
import { PROVIDER_NAMES, PROVIDERS } from "@patchbay/protocol/providers";
import { reviewFaultOf } from "../commands/agents.ts";
import { type Environment, readProviderConfig } from "../config.ts";
import {
  databaseFile,
  type DatabaseOptions,
  databaseUrl,
  folderFault,
  isEmbedded,
  requireDatabase,
  withoutPassword,
} from "../database.ts";
import { reasonOf } from "@patchbay/loading/failure";
import { readPrices } from "../options.ts";
import { readProvidersFile } from "../providers-file.ts";
import { KEYS, modelsOf, WITHOUT_KEY } from "../serving.ts";
import { findServiceFile, loadService } from "../service-file.ts";

/** The result of one check; `fix` says what to do. */
export interface Finding {
  name: string;
  status: "ok" | "warn" | "fail";
  message: string;
  fix?: string;
}

export const ok = (name: string, message: string): Finding => ({ name, status: "ok", message });
export const warn = (name: string, message: string, fix: string): Finding => ({ name, status: "warn", message, fix });
export const fail = (name: string, message: string, fix: string): Finding => ({ name, status: "fail", message, fix });

/** What `check` finds. If it throws, the finding says why. */
async function attempt(name: string, fix: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return fail(name, reasonOf(error), fix);
  }
}

const MIN_NODE = packageJson.engines.node.slice(">=".length);

export function checkNode(version = process.versions.node): Finding {
  if (!isOlder(version, MIN_NODE)) return ok("Node.js", version);
  return fail("Node.js", `${version} is too old`, `Install Node.js ${MIN_NODE} or newer.`);
}

const isOlder = (version: string, than: string): boolean => version.localeCompare(than, "en", { numeric: true }) < 0;

export function checkDataDir(dataDir: string): Finding {
  const folder = resolve(dataDir);
  const fault = folderFault(folder);
  if (fault !== undefined) return fail("data folder", fault, "Then run doctor again.");
  return ok("data folder", `${folder} is writable${existsSync(folder) ? "" : "; the first start creates it"}`);
}

/** Files that other users on this machine must not read: the database, and the `dev` credentials. */
export function checkFileModes(options: DatabaseOptions): Finding[] {
  const database = databaseFile(options);
  const files = database === undefined ? [] : [database, `${database}-wal`, `${database}-shm`];
  const modes = [...files, resolve(options.dataDir, "dev-credentials.json")].flatMap((file) => {
    const mode = modeOf(file);
    return (mode & 0o077) === 0 ? [] : [{ file, mode: (mode & 0o777).toString(8).padStart(4, "0") }];
  });
  return modes.map(({ file, mode }) =>
    warn("file mode", `${file} is open to other users of this machine (mode ${mode})`, `chmod 600 ${file}`),
  );
}

/** 0 for a missing file, or one that this user cannot reach. */
function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch {
    return 0;
  }
}

export async function checkDatabase(options: DatabaseOptions): Promise<Finding> {
  const url = databaseUrl(options);
  if (!isEmbedded(options)) return checkPostgres(url);
  const file = databaseFile(options) ?? url;
  return attempt("database", "Restore a backup, or name another database: --database sqlite:PATH.", async () => {
    requireDatabase(options, { mayCreate: true });
    if (url.startsWith("sqlite:") && !existsSync(file))
      return ok("database", `${file} does not exist yet; the first start creates it`);
    const { openStore } = await import("@patchbay/control-plane/admin");
    const store = await openStore(url);
    try {
      await store.ping();
    } finally {
      await store.close();
    }
    return ok("database", `${file} opens and has this version's schema`);
  });
}

/** Changes nothing: tables belong to the user who creates them, which must be the service's. */
async function checkPostgres(url: string): Promise<Finding> {
  const shown = withoutPassword(url);
  const fix = "Check the address and that the server runs: --database postgres://USER:PASSWORD@HOST/DATABASE.";
  return attempt("database", fix, async () => {
    const { inspectStore } = await import("@patchbay/control-plane/admin");
    const { pending, unknown } = await inspectStore(url);
    const newer = `${shown} was used by a newer version of Patchbay`;
    if (unknown.length > 0) return fail("database", newer, "Install that version, or restore a backup.");
    const form = pending.length === 0 ? "has this version's schema" : "gets this version's schema at the next start";
    return ok("database", `${shown} answers and ${form}`);
  });
}

/** Whether the bus between replicas answers. */
export async function checkNats(urls: string): Promise<Finding> {
  const { reachesNats } = await import("@patchbay/control-plane/admin");
  // The part before an "@" is a password or a token.
  const shown = urls.replaceAll(/[^,/@]*@/g, "");
  const fix = "Check the address and that the NATS server runs: --nats nats://HOST:4222.";
  return attempt("bus", fix, async () =>
    (await reachesNats(urls)) ? ok("bus", `${shown} answers`) : fail("bus", `${shown} does not answer`, fix),
  );
}

export async function checkPort({ host, port }: { host: string; port: number }): Promise<Finding> {
  const code = await tryListening(host, port);
  if (code === undefined) return ok("port", `${port} on ${host} is free`);
  if (code !== "EADDRINUSE")
    return fail("port", `cannot listen on ${host}:${port} (${code})`, "Choose another: --host H --port N.");
  if (await answersHealthz(host, port)) return ok("port", `a Patchbay service already answers on ${host}:${port}`);
  return fail("port", `${port} on ${host} is used by another program`, "Stop it, or choose another port: --port N.");
}

function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve("code" in error ? String(error.code) : error.message));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

async function answersHealthz(host: string, port: number): Promise<boolean> {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const response = await fetch(`http://${name}:${port}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(
    () => undefined,
  );
  return response?.ok === true && response.headers.has("X-Request-Id");
}

/** Whether the provider settings are valid and each key has its provider's form. Sends nothing. */
export function checkProviders(environment: Environment): Finding[] {
  try {
    const config = readProviderConfig(environment);
    const findings = PROVIDER_NAMES.flatMap((name) => {
      const account = config[name];
      if (!account) return [];
      const { env, keyShape } = PROVIDERS[name];
      const { apiKey, baseUrl } = account;
      if (apiKey !== undefined && baseUrl === undefined && !keyShape.test(apiKey))
        return [warn(name, "the key does not look like a key of this provider", `Check ${env}_API_KEY.`)];
      return [ok(name, baseUrl === undefined ? "a key is set" : `configured, at ${baseUrl}`)];
    });
    const chosen = PROVIDER_NAMES.find((name) => name === config.default?.provider);
    if (chosen && !config[chosen]) {
      const key = `${PROVIDERS[chosen].env}_API_KEY`;
      findings.push(fail("provider", `PATCHBAY_PROVIDER is ${chosen}, which has no key`, `Set ${key}.`));
    }
    if (findings.length > 0) return findings;
    if (config.offline) return [ok("provider", "the offline model: word matching, not a language model")];
    return [
      warn(
        "provider",
        "no key is set: `dev` uses the offline model, queries to `serve` fail",
        `Set ${KEYS}, or ${WITHOUT_KEY}.`,
      ),
    ];
  } catch (error) {
    return [fail("provider", reasonOf(error), "Correct these variables or unset them.")];
  }
}

/** Checks the file of `--providers`, or the providers' variables without one. Sends nothing. */
export async function checkModels(file: string | undefined, environment: Environment): Promise<Finding[]> {
  if (file === undefined) return checkProviders(environment);
  const finding = attempt("providers", "Correct the file or the variables.", async () => {
    const { endpoints } = (await readProvidersFile(file, environment)).settings;
    const names = endpoints?.().map(({ name }) => name);
    return ok("providers", `${file} has the endpoints ${names?.join(", ")}`);
  });
  return [await finding];
}

/** The models of `serve`; undefined if they cannot be read, which `checkModels` reports. */
export async function configuredModels(options: { providers?: string }, environment: Environment) {
  try {
    const { offline: _, ...config } = (await modelsOf(options, environment)).settings;
    return config;
  } catch {
    return undefined;
  }
}
type Models = Awaited<ReturnType<typeof configuredModels>>;

const withoutText = (leftOut: readonly string[] = []): string =>
  leftOut.length === 0 ? "" : `; the server does not get ${leftOut.join(", ")}`;

/** The profiles of servers, and the agents that name endpoints or models which are not configured. */
export async function checkUses(models: Models, agents: readonly Agent[]): Promise<Finding[]> {
  if (!models) return [];
  const { agentModels, createModelCatalog, whyMissing } = await import("@patchbay/control-plane/admin");
  const catalog = createModelCatalog(models);
  const profiles = catalog
    .providers()
    .flatMap(({ name, leftOut }) => (leftOut ? [ok(name, `profile${withoutText(leftOut)}`)] : []));
  const faults = agents.flatMap((agent) => {
    const missing = agentModels(agent, catalog).flatMap((one) =>
      "missing" in one && one.missing !== "none" ? [`${whyMissing(one)}.`] : [],
    );
    const fix = `patchbay agents update ${agent.agentId} --provider NAME --model NAME`;
    return missing.length === 0 ? [] : [warn("agent", `${agent.name}: ${missing.join(" ")}`, fix)];
  });
  return [...profiles, ...faults];
}

/** Agents whose access differs from what a member signed off, or whose next review is due. */
export async function checkReviews(admin: Pick<Admin, "accessReview">, agents: readonly Agent[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { agentId, name } of agents) {
    const fault = reviewFaultOf(await admin.accessReview(agentId));
    if (fault !== undefined) found.push(warn("access", `${name}: ${fault}`, `patchbay agents review ${agentId}`));
  }
  return found;
}

/** What each endpoint's default model and each agent's models can do. Asks them for two short turns. */
export async function checkAnswers(models: Models, agents: readonly Agent[]): Promise<Finding[]> {
  const { probeModels } = await import("@patchbay/control-plane/admin");
  return (await probeModels(models ?? {}, agents)).map(({ endpoint, model, works, missing, leftOut, error }) => {
    if (error !== undefined)
      return fail(endpoint, `${model} did not answer: ${error}`, "Correct the endpoint or its key.");
    const lacks = missing.length === 0 ? "" : `; not seen: ${missing.join(", ")}`;
    return ok(endpoint, `${model}: ${works.join(", ")}${lacks}${withoutText(leftOut)}; images are not sent`);
  });
}

/** Checks the price file, if one is set. */
export async function checkPrices({ PATCHBAY_PRICES: file = "" }: Environment): Promise<Finding[]> {
  if (file === "") return [];
  const finding = attempt("prices", "Correct the file, or unset PATCHBAY_PRICES.", async () => {
    const { length } = Object.keys((await readPrices(file)) ?? {});
    return ok("prices", `${file} has prices of ${length} models`);
  });
  return [await finding];
}

/** Functions that a finding names. */
const NAMED = 10;

export const checkFile = (named: string | undefined, models: Models, agents: readonly Agent[]): Promise<Finding> =>
  attempt("functions", "Correct the file; `patchbay dev` reloads it when you save.", async () => {
    const path = findServiceFile(named);
    const { manifest } = await loadService(path);
    const { createModelCatalog, excesses, strictFault } = await import("@patchbay/control-plane/admin");
    const catalog = createModelCatalog(models ?? {});
    const [excess] = [undefined, ...agents].flatMap((agent) => excesses([manifest], catalog, agent));
    if (excess !== undefined) return warn("functions", `${path}: ${excess}`, "Then run doctor again.");
    const loose = manifest.functions.flatMap((one) => {
      const reason = strictFault(one);
      return reason === undefined ? [] : [`${one.name} (${reason})`];
    });
    const more = loose.length > NAMED ? ` and ${loose.length - NAMED} more` : "";
    const strict = loose.length === 0 ? "all strict" : `not strict: ${loose.slice(0, NAMED).join(", ")}${more}`;
    return ok("functions", `${path} defines ${manifest.functions.length}, ${strict}`);
  });
