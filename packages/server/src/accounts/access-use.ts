import { isoTime } from "@patchbay/kit";
import { accessColumns, roleOfColumn } from "@patchbay/access";
import {
  type Inclusions,
  inheritedFrom,
  type Manifest,
  type Roles,
  rolesAllow,
  withIncluding,
} from "@patchbay/protocol";
import type { UseOfFunction } from "@patchbay/engine/ports/store/audit-seals";
import type { DeployedSet, Store } from "@patchbay/engine/ports/store/stores";

const DAY_MS = 86_400_000;
/** Function sets that are read to find when roles got their functions. */
const READ_SETS = 200;
const LISTED_DENIALS = 50;

/** A role's right: a function whose role list includes it. `role` is null for queries without one. */
export interface RightUse {
  functionName: string;
  role: string | null;
  /** `new`: not called, but the role got the function within the period, or no runtime has connected with it. */
  verdict: "used" | "unused" | "new";
  /** The listed roles that the role includes: it has the right while one of them has it. Absent if it includes none. */
  from?: string[];
  /** Calls in the period that passed all checks, with any outcome. */
  calls: number;
  /** In the whole log. */
  lastUsedAt: string | null;
  /** Whole days since the role got the function; null when no runtime has connected with it. */
  grantedDays: number | null;
  /** True when the role may have had it before: earlier function sets are not stored. */
  atLeast: boolean;
}

/** Calls that a rule denied. */
export interface DeniedUse {
  functionName: string;
  role: string | null;
  rule: string;
  calls: number;
  lastAt: string;
}

/** Which roles use the functions whose role lists include them. */
export interface AccessUse {
  agentId: string;
  since: string;
  until: string;
  rights: RightUse[];
  /** Most calls first, at most 50. */
  denied: DeniedUse[];
  /** Role lists without unused rights. `[]`: no role called the function. */
  suggestion: Record<string, Roles>;
  /** Calls that the suggested role lists would have refused, in the period and in the whole log. */
  refused: {
    calls: number;
    allCalls: number;
    rights: { functionName: string; role: string | null; allCalls: number; lastAt: string }[];
  };
}

export interface AskedUse {
  agentId: string;
  /** The functions whose role lists are checked. */
  manifest: Pick<Manifest, "functions" | "roles" | "roleOptions" | "defaultRole">;
  /** Milliseconds on the database's clock. Rounded down to the start of its day (UTC). */
  since: number;
  /** Roles and functions that stay although unused, such as those for emergencies. */
  keep?: readonly string[];
}

/** Compares role lists with the calls in the audit log. Every right belongs to the agent's organisation. */
export async function accessUse(
  { audit, runtimes, now }: Pick<Store, "audit" | "runtimes" | "now">,
  { agentId, manifest, since, keep = [] }: AskedUse,
): Promise<AccessUse> {
  const until = await now();
  const from = since - (since % DAY_MS);
  const use = await audit.use(agentId, from);
  const held = rightsOf(manifest);
  const granted = await grantsOf(runtimes, agentId, held);
  const rights = held.map((right) => rightUse(right, { use: use.filter(isOf(right, manifest)), granted, from, until }));
  const kept = new Set(keep);
  const stays = ({ functionName, role, verdict }: RightUse): boolean =>
    verdict !== "unused" || kept.has(functionName) || (role !== null && kept.has(role));
  const suggestion = Object.fromEntries(
    manifest.functions
      .map(({ name, roles }): [string, Roles] => {
        const ofFunction = rights.filter(({ functionName }) => functionName === name);
        return [name, suggested(roles, ofFunction, { stays, inclusions: manifest.roleOptions })];
      })
      .toSorted(([a], [b]) => compareTexts(a, b)),
  );
  return {
    agentId,
    since: isoTime(from),
    until: isoTime(until),
    rights,
    denied: deniedOf(use, manifest),
    suggestion,
    refused: refusedBy(suggestion, use, manifest),
  };
}

const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

type Right = Pick<RightUse, "functionName" | "role" | "from">;
type Named = AskedUse["manifest"];

const keyOf = ({ functionName, role }: Right): string => JSON.stringify([functionName, role]);

function rightsOf(manifest: Named): Right[] {
  const columns = accessColumns(manifest as Manifest).map((column) => roleOfColumn(column));
  return manifest.functions
    .toSorted((a, b) => compareTexts(a.name, b.name))
    .flatMap(({ name: functionName, roles }) =>
      columns
        .filter((role) => rolesAllow(roles, role))
        .map((role) => {
          const from = role === undefined ? [] : inheritedFrom(role, roles, manifest.roleOptions);
          return { functionName, role: role ?? null, ...(from.length > 0 && { from }) };
        }),
    );
}

/** Matches a right's uses. Roles that the service does not know count as queries without a role. */
function isOf({ functionName, role }: Right, manifest: Named): (used: UseOfFunction) => boolean {
  const known = new Set(accessColumns(manifest as Manifest).map((column) => roleOfColumn(column)));
  return (used) =>
    used.functionName === functionName && (used.role === role || (role === null && !known.has(used.role ?? undefined)));
}

interface Known {
  use: readonly UseOfFunction[];
  granted: ReadonlyMap<string, Grant>;
  from: number;
  until: number;
}

function rightUse(right: Right, { use, granted, from, until }: Known): RightUse {
  const called = use.filter(({ outcome }) => outcome === "called");
  const calls = called.reduce((sum, used) => sum + used.calls, 0);
  const last = Math.max(...called.map(({ lastAt }) => lastAt));
  const grant = granted.get(keyOf(right));
  const isNew = grant === undefined || (grant.since > from && !grant.atLeast);
  return {
    ...right,
    verdict: calls > 0 ? "used" : isNew ? "new" : "unused",
    calls,
    lastUsedAt: called.length === 0 ? null : isoTime(last),
    grantedDays: grant === undefined ? null : Math.floor((until - grant.since) / DAY_MS),
    atLeast: grant?.atLeast ?? false,
  };
}

interface Suggesting {
  stays: (right: RightUse) => boolean;
  inclusions: Inclusions | undefined;
}

/** A function for everyone stays so while queries without a known role use it, and an included role's for all that include it. */
function suggested(roles: Roles, rights: readonly RightUse[], { stays, inclusions }: Suggesting): Roles {
  const staying = rights.filter(stays).map(({ role }) => role);
  const named = staying.filter((role) => role !== null);
  if (roles === "everyone") return staying.includes(null) ? roles : withIncluding(named, inclusions);
  const held = withIncluding(named, inclusions);
  return roles.filter((role) => held.includes(role));
}

function deniedOf(use: readonly UseOfFunction[], { functions }: Named): DeniedUse[] {
  const names = new Set(functions.map(({ name }) => name));
  return use
    .filter(({ outcome, calls, functionName }) => outcome !== "called" && calls > 0 && names.has(functionName))
    .toSorted((a, b) => b.calls - a.calls || compareTexts(keyOf(a), keyOf(b)))
    .slice(0, LISTED_DENIALS)
    .map(({ functionName, role, outcome: rule, calls, lastAt }) => ({
      functionName,
      role,
      rule,
      calls,
      lastAt: isoTime(lastAt),
    }));
}

/** Computed from the log and not from the verdicts, so that it includes roles that the service does not know. */
function refusedBy(
  suggestion: Record<string, Roles>,
  use: readonly UseOfFunction[],
  { functions }: Named,
): AccessUse["refused"] {
  const before = new Map(functions.map(({ name, roles }) => [name, roles]));
  const lost = use.filter(({ functionName, role, outcome }) => {
    const roles = before.get(functionName);
    if (roles === undefined || outcome !== "called" || !rolesAllow(roles, role ?? undefined)) return false;
    return !rolesAllow(suggestion[functionName]!, role ?? undefined);
  });
  return {
    calls: lost.reduce((sum, { calls }) => sum + calls, 0),
    allCalls: lost.reduce((sum, { allCalls }) => sum + allCalls, 0),
    rights: lost.map(({ functionName, role, allCalls, lastAt }) => ({
      functionName,
      role,
      allCalls,
      lastAt: isoTime(lastAt),
    })),
  };
}

interface Grant {
  since: number;
  atLeast: boolean;
}

/** Since when the roles have had these functions without interruption, from each service's stored function sets. */
async function grantsOf(runtimes: Store["runtimes"], agentId: string, rights: readonly Right[]) {
  const grants = new Map<string, Grant>();
  const active = (await runtimes.functionSets(agentId)).filter(({ confirmation }) => confirmation !== "pending");
  for (const sets of Map.groupBy(active, ({ service }) => service).values()) {
    const found = await grantsIn(sets.toReversed(), rights, (hash) => runtimes.getManifest(agentId, hash));
    for (const [key, grant] of found) {
      const other = grants.get(key);
      if (other === undefined || grant.since < other.since) grants.set(key, grant);
    }
  }
  return grants;
}

/** `sets`: newest first. */
async function grantsIn(
  sets: readonly DeployedSet[],
  rights: readonly Right[],
  manifestOf: (hash: string) => Promise<Manifest | undefined>,
): Promise<Map<string, Grant>> {
  const grants = new Map<string, Grant>();
  let open = [...rights];
  let last: { hash: string; roles: ReadonlyMap<string, Roles> } | undefined;
  let read = 0;
  for (const [at, set] of sets.entries()) {
    if (set.manifestHash !== last?.hash) {
      const manifest = read++ < READ_SETS ? await manifestOf(set.manifestHash) : undefined;
      if (manifest === undefined) {
        for (const right of open) if (at > 0) grants.get(keyOf(right))!.atLeast = true;
        return grants;
      }
      last = { hash: set.manifestHash, roles: new Map(manifest.functions.map(({ name, roles }) => [name, roles])) };
    }
    const { roles } = last;
    open = open.filter(({ functionName, role }) => {
      const list = roles.get(functionName);
      return list !== undefined && rolesAllow(list, role ?? undefined);
    });
    for (const right of open) grants.set(keyOf(right), { since: set.confirmedAt ?? set.firstSeenAt, atLeast: false });
    if (open.length === 0) return grants;
  }
  return grants;
}
