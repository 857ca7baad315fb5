import { isoTime, type JsonObject } from "@patchbay/kit";
import type { Manifest } from "@patchbay/protocol";
import type { AccessReview } from "@patchbay/protocol/console";
import type { AuditFilter, AuditRow } from "@patchbay/engine/ports/store/audit";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { AdminError, agentOf, found } from "./admin-error.ts";

const DAY_MS = 86_400_000;

/** Records that members reviewed who may call what. */
export interface ReviewAdmin {
  accessReview(agentId: string): Promise<AccessReview>;
  /**
   * Records that a member reviewed the sets in force, which `sets` must name, by at least 8 characters of their hashes.
   * `days`: until the next review. `member`: id or address, for a command.
   */
  signAccess(
    agentId: string,
    signed: { sets: readonly string[]; days: number; member?: string },
  ): Promise<AccessReview>;
}

export function reviewAdmin(store: Store, by: string | undefined): ReviewAdmin {
  const { accounts, audit, members } = store;

  async function accessReview(agentId: string): Promise<AccessReview> {
    const { orgId } = await agentOf(accounts, agentId);
    const sets = await setsInForce(store, agentId);
    const entry = (await entriesOf(store, "access.signed", { orgId, agentId })).at(-1);
    if (!entry) return { sets, signed: null, changed: [], isDue: false };
    const detail = entry.detail as JsonObject & { memberId: string; days: number; sets: JsonObject[] };
    const { name = detail.memberId } = (await members.byId(detail.memberId)) ?? {};
    const known = new Set(detail.sets.map(keyOf));
    const dueAt = entry.at + detail.days * DAY_MS;
    return {
      sets,
      signed: { by: name, at: isoTime(entry.at), dueAt: isoTime(dueAt) },
      changed: sets.flatMap((set) => (known.has(keyOf(set)) ? [] : [set.service])),
      isDue: (await store.now()) >= dueAt,
    };
  }

  async function memberIn(orgId: string, member: string | undefined): Promise<string> {
    if (member === undefined) throw new AdminError("A member signs off. Name one with --member.");
    const known = (await members.byId(member)) ?? (await members.byEmail(member.toLowerCase()));
    return found(known?.orgId === orgId ? known : undefined, "member", member, "members list").memberId;
  }

  return {
    accessReview,
    async signAccess(agentId, { sets: asked, days, member }) {
      const { orgId } = await agentOf(accounts, agentId);
      const sets = await setsInForce(store, agentId);
      const names = (prefix: string) => sets.filter((set) => prefix.length > 7 && set.manifestHash.startsWith(prefix));
      if (
        sets.length === 0 ||
        asked.some((one) => names(one).length === 0) ||
        new Set(asked.flatMap(names)).size < sets.length
      ) {
        const inForce = sets.map(({ service, manifestHash }) => `${manifestHash} (${service})`).join(", ");
        throw new AdminError(
          `In force are ${inForce || "no sets: no runtime is connected"}. Review and name these.`,
          "conflict",
        );
      }
      const detail = { memberId: by ?? (await memberIn(orgId, member)), days, sets };
      const author = by === undefined ? {} : { keyId: by };
      await audit.record([{ orgId, agentId, action: "access.signed", detail, ...author }]);
      return await accessReview(agentId);
    },
  };
}

const keyOf = ({ service, manifestHash, lock }: JsonObject): string => JSON.stringify([service, manifestHash, lock]);

/** Each service's newest set that is connected and does not wait for a confirmation. */
async function setsInForce({ runtimes }: Store, agentId: string): Promise<AccessReview["sets"]> {
  const connected = new Set((await runtimes.connections(agentId)).map(({ manifestHash }) => manifestHash));
  const usable = (await runtimes.setOrder(agentId)).filter((set) => !set.pending && connected.has(set.manifestHash));
  const ordered = usable.toSorted((a, b) => a.place - b.place || a.position - b.position);
  const newest = new Map(ordered.map((set) => [set.service, set]));
  const sets: AccessReview["sets"] = [];
  for (const { service, manifestHash } of newest.values())
    sets.push({ service, manifestHash, lock: await runtimes.lockHash(agentId, manifestHash) });
  return sets.toSorted((a, b) => a.service.localeCompare(b.service));
}

/** All entries with an action or of an action group, oldest first. */
export async function entriesOf({ audit }: Store, action: string, asked: AuditFilter): Promise<AuditRow[]> {
  const found: AuditRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await audit.list({ ...asked, action, limit: 1_000, cursor });
    found.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found.toReversed();
}

/** A function set's services with their own sets: several for a combined set. */
export function ownSets({ manifestHash, manifest }: { manifestHash: string; manifest: Manifest }) {
  const origins = manifest.functions.map(({ origin }) => origin ?? { service: manifest.name, manifestHash });
  return [...new Map(origins.map((origin) => [origin.service, origin])).values()];
}
