import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Admin, ControlPlane } from "@patchbay/control-plane";

/** What is needed to use a development service, in clear text: for development alone. */
export interface DevCredentials {
  /** Where the service was when it last started. */
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

/** A token that ends sooner than this is renewed, so that a working day does not outlive it. */
const TOKEN_LEFT_MS = 6 * 3_600_000;

const fileIn = (dataDir: string) => join(dataDir, "dev-credentials.json");

/** The kept credentials; undefined where there are none that can be read. */
export function readDevCredentials(dataDir: string): Partial<DevCredentials> | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as Partial<DevCredentials>;
  } catch {
    return undefined;
  }
}

/** The kept credentials as far as the database still takes them, the rest made anew; kept for the next start. */
export async function ensureDevCredentials(
  dataDir: string,
  { admin, url: baseUrl }: Pick<ControlPlane, "admin" | "url">,
): Promise<DevCredentials> {
  const kept = readDevCredentials(dataDir) ?? {};
  const agent = (await ensureAgent(admin, kept)) ?? (await createAgent(admin));
  const { agentId } = agent;
  const [runtime, access] = [await ensureRuntimeKey(admin, agentId, kept), await ensureToken(admin, agentId, kept)];
  const credentials = { baseUrl, ...agent, ...runtime, ...access };
  keep(dataDir, credentials);
  return credentials;
}

type AgentPart = Pick<DevCredentials, "orgId" | "agentId" | "keyId" | "apiKey">;

async function ensureAgent(admin: Admin, kept: Partial<DevCredentials>): Promise<AgentPart | undefined> {
  const agent = (await admin.listAgents()).find(({ agentId }) => agentId === kept.agentId);
  if (!agent) return undefined;
  const { agentId, orgId } = agent;
  const { keyId, apiKey } = kept;
  if (keyId && apiKey && (await admin.listKeys(agentId)).some((key) => key.keyId === keyId && key.revokedAt === null))
    return { orgId, agentId, keyId, apiKey };
  const made = await admin.createKey({ agentId, label: "dev" });
  return { orgId, agentId, keyId: made.keyId, apiKey: made.apiKey };
}

async function createAgent(admin: Admin): Promise<AgentPart> {
  const { orgId } = await admin.createOrg("Development", "sandbox");
  const { agentId, keyId, apiKey } = await admin.createAgent("dev", { orgId });
  return { orgId, agentId, keyId, apiKey };
}

async function ensureRuntimeKey(admin: Admin, agentId: string, { runtimeKeyId, runtimeKey }: Partial<DevCredentials>) {
  const keys = await admin.listRuntimeKeys(agentId);
  if (runtimeKeyId && runtimeKey && keys.some((key) => key.keyId === runtimeKeyId && key.revokedAt === null))
    return { runtimeKeyId, runtimeKey };
  const made = await admin.createRuntimeKey({ agentId, label: "dev" });
  return { runtimeKeyId: made.keyId, runtimeKey: made.runtimeKey };
}

async function ensureToken(admin: Admin, agentId: string, { tokenId, accessToken }: Partial<DevCredentials>) {
  const tokens = await admin.listTokens(agentId);
  const token = tokens.find((one) => one.tokenId === tokenId && one.revokedAt === null);
  const endsAt = Date.parse(token?.expiresAt ?? "");
  if (tokenId && accessToken && endsAt - Date.now() > TOKEN_LEFT_MS) return { tokenId, accessToken };
  const made = await admin.createToken({ agentId, label: "dev" });
  return { tokenId: made.tokenId, accessToken: made.accessToken };
}

/** Written beside and renamed, so that the file is never half there and never readable by others. */
function keep(dataDir: string, credentials: DevCredentials): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const next = `${fileIn(dataDir)}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, fileIn(dataDir));
}
