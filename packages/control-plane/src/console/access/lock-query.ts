import type { Manifest } from "@patchbay/protocol";
import type { NotNull } from "kysely";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";

export interface LockedSet {
  manifestHash: string;
  manifest: Manifest;
  lock: Readonly<Record<string, unknown>>;
  since: string;
}

/** The sets among these hashes whose newest runtime reported a lock, by service. */
export async function locksOf(
  { db }: Engine,
  orgId: string,
  agentId: string,
  hashes: readonly string[],
): Promise<LockedSet[]> {
  const rows = await db
    .selectFrom("manifests")
    .select(["hash", "body", "access_lock", "lock_since"])
    .$narrowType<{ access_lock: NotNull; lock_since: NotNull }>()
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .where("hash", "in", hashes)
    .where("access_lock", "is not", null)
    .execute();
  return rows
    .map((row) => ({
      manifestHash: row.hash,
      manifest: fromJson(row.body),
      lock: fromJson(row.access_lock),
      since: isoTime(row.lock_since),
    }))
    .toSorted((a, b) => a.manifest.name.localeCompare(b.manifest.name));
}
