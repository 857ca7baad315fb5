import type { ClientDoor } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import type { CallerIds } from "@patchbay/engine/ports/callers";
import type { NewServiceToken, ServiceTokenRecord } from "@patchbay/engine/ports/store/service-tokens";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import type { Json } from "../columns.ts";
import { bigint, json, pick, recordColumns, type RowOf, text } from "./table.ts";

/** What programs and pages authenticate with. */
export interface CredentialTables {
  credentials: CredentialRow;
  service_tokens: ServiceTokenRow;
  client_tokens: ClientTokenRow;
}

/** What only the agent and the organisation say is left out. */
type StoredCredential = Omit<Credential, "tier" | "needsProof" | "callerClaims">;

const CREDENTIAL = {
  credentialId: text("id"),
  kind: text("kind"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  hash: text("hash"),
  hint: text("hint"),
  roles: json("roles"),
  can: json("can"),
  taskModel: text("task_model"),
  label: text("label"),
  createdAt: bigint("created_at"),
  expiresAt: bigint("expires_at"),
  lastUsedAt: bigint("last_used_at"),
  revokedAt: bigint("revoked_at"),
  lineage: text("lineage"),
  createdBy: text("created_by"),
};

/** An API key, a runtime key or an access token. */
export type CredentialRow = RowOf<StoredCredential, typeof CREDENTIAL>;
export const credentialColumns = recordColumns<StoredCredential>()(CREDENTIAL);

type StoredToken = Omit<ServiceTokenRecord, "state"> & Pick<NewServiceToken, "hash"> & Pick<Credential, "lineage">;

const SERVICE_TOKEN = {
  ...pick(CREDENTIAL, ["orgId", "hash", "hint", "label", "createdBy", "createdAt", "expiresAt", "lastUsedAt"]),
  ...pick(CREDENTIAL, ["revokedAt", "lineage"]),
  tokenId: text("id"),
  scopes: json("scopes"),
};

/** A token with which a program manages an organisation. */
export type ServiceTokenRow = RowOf<StoredToken, typeof SERVICE_TOKEN>;
export const serviceTokenColumns = recordColumns<StoredToken>()(SERVICE_TOKEN);

/** A token that a page holds. */
export interface ClientTokenRow {
  id: string;
  org_id: string;
  key_id: string;
  hash: string;
  role: string;
  context: Json<JsonObject>;
  thread_key: string | null;
  /** Tokens from versions without caller issuers have no `ids`. */
  proven: Json<{ subject: string; ids?: CallerIds; issuer?: string; claims?: JsonObject }> | null;
  /** Null in tokens from versions in which all tokens had equal rights, like `reasoning`. */
  allow: Json<ClientDoor[]> | null;
  reasoning: number | null;
  created_at: number;
  expires_at: number;
}
