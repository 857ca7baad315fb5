import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Admin, ControlPlane } from "@patchbay/control-plane";
import type { Manifest } from "@patchbay/protocol";

/** Clear-text credentials for a development service. */
export interface DevCredentials {
  /** The service's address at its last start. */
  baseUrl: string;
  orgId: string;
  agentId: string;
  keyId: string;
  apiKey: string;
  runtimeKeyId: string;
  runtimeKey: string;
  tokenId: string;
  accessToken: string;
}

/** A credential with less time left, such as a token, is renewed, so that it lasts a working day. */
const LEAST_LEFT_MS = 6 * 3_600_000;

const fileIn = (dataDir: string) => join(dataDir, "dev-credentials.json");

/** The stored credentials; undefined when they are missing or unreadable. */
export function readDevCredentials(dataDir: string): Partial<DevCredentials> | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as Partial<DevCredentials>;
  } catch {
    return undefined;
  }
}

/**
 * The stored credentials that the database still accepts, and new ones for the rest; stored for the next start. The agent is
 * named after its service.
 */
export async function ensureDevCredentials(
  dataDir: string,
  { admin, url: baseUrl }: Pick<ControlPlane, "admin" | "url">,
  { name }: Pick<Manifest, "name">,
): Promise<DevCredentials> {
  const kept = readDevCredentials(dataDir) ?? {};
  const agent = (await admin.listAgents()).find(({ agentId }) => agentId === kept.agentId);
  const known: Partial<DevCredentials> & Pick<DevCredentials, "orgId" | "agentId"> = agent
    ? { ...kept, orgId: agent.orgId, agentId: agent.agentId }
    : await createAgent(admin, name);
  if (agent && agent.name !== name) await admin.updateAgent(agent.agentId, { name });
  const { orgId, agentId } = known;
  const [keyId, apiKey] = await ensureCredential(admin, "api", agentId, known.keyId, known.apiKey);
  const runtime = await ensureCredential(admin, "runtime", agentId, known.runtimeKeyId, known.runtimeKey);
  const [runtimeKeyId, runtimeKey] = runtime;
  const [tokenId, accessToken] = await ensureCredential(admin, "access", agentId, known.tokenId, known.accessToken);
  const keys = { keyId, apiKey, runtimeKeyId, runtimeKey, tokenId, accessToken };
  const credentials = { baseUrl, orgId, agentId, ...keys };
  keep(dataDir, credentials);
  return credentials;
}

async function createAgent(admin: Admin, name: string) {
  const { orgId } = await admin.createOrg("Development", "sandbox");
  return admin.createAgent(name, { orgId });
}

/** The stored id and secret if the database still accepts them, else new ones. */
async function ensureCredential(
  { credentials }: Admin,
  kind: "api" | "runtime" | "access",
  agentId: string,
  id: string | undefined,
  secret: string | undefined,
): Promise<[id: string, secret: string]> {
  const stored = (await credentials.list(kind, agentId)).find(({ credentialId }) => credentialId === id);
  const endsAt = stored?.expiresAt ?? Number.POSITIVE_INFINITY;
  const isValid = stored && stored.revokedAt === undefined && endsAt - Date.now() > LEAST_LEFT_MS;
  if (isValid && id && secret) return [id, secret];
  // `patchbay query` confirms calls that the query's role may approve itself.
  const can = kind === "api" ? { can: ["approve" as const] } : {};
  const created = await credentials.create(kind, { agentId, label: "dev", ...can });
  return [created.credentialId, created.secret];
}

/** Writes a new file and renames it, so that the stored one is always complete and never readable by others. */
function keep(dataDir: string, credentials: DevCredentials): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const next = `${fileIn(dataDir)}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, fileIn(dataDir));
}

/** Creates a missing data folder and excludes it from Git: it contains keys in clear text. */
export function makeDataFolder(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, ".gitignore"), "*\n");
}
