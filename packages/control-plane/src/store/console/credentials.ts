import type { Credential } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { CredentialReads } from "../../ports/console-agents.ts";
import { fromJson, isoTime } from "../columns.ts";
import type { CredentialRow, Engine } from "../schema.ts";
import { olderThan, pageFrom } from "./keyset.ts";

const ORDER = { at: "created_at", id: "id" };

export function credentialReads({ db, dialect }: Engine): CredentialReads {
  const ofAgent = (orgId: string, agentId: string) =>
    db
      .selectFrom("credentials")
      .selectAll()
      .select(sql<number>`case when expires_at <= ${dialect.now} then 1 else 0 end`.as("expired"))
      .where("org_id", "=", orgId)
      .where("agent_id", "=", agentId);
  return {
    async list(orgId, agentId, { kind, limit, cursor }) {
      const rows = await ofAgent(orgId, agentId)
        .$if(kind !== undefined, (narrowed) => narrowed.where("kind", "=", kind!))
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: Row) => ({ at: row.created_at, id: row.id });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      return { items: page.rows.map(toCredential), nextCursor: page.nextCursor };
    },

    async get(orgId, agentId, credentialId) {
      const row = await ofAgent(orgId, agentId).where("id", "=", credentialId).executeTakeFirst();
      return row && toCredential(row);
    },
  };
}

type Row = CredentialRow & { expired: number };

function toCredential(row: Row): Credential {
  return {
    credentialId: row.id,
    kind: row.kind,
    agentId: row.agent_id,
    hint: row.hint,
    label: row.label,
    roles: row.roles === null ? null : fromJson(row.roles),
    createdAt: isoTime(row.created_at),
    lastUsedAt: timeOrNull(row.last_used_at),
    expiresAt: timeOrNull(row.expires_at),
    revokedAt: timeOrNull(row.revoked_at),
    state: row.revoked_at !== null ? "revoked" : row.expired === 1 ? "expired" : "active",
  };
}

const timeOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));
