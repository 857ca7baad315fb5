import { type AccessLock, Effect } from "@patchbay/protocol";
import { cellFor, flowPairs, isCounted, NO_ROLE, quote } from "@patchbay/access";
import { isJsonObject } from "@patchbay/kit";

/**
 * What may never be granted, whatever the lock says: roles by function, by effect (`*destructive`), or for the whole
 * service (`*`). The role `none` is a query without a role.
 */
export type NeverList = Readonly<Record<string, readonly string[]>>;

const EFFECTS = new Map(Effect.options.map((effect) => [`*${effect}`, effect]));

/** Parses a never-list's text. Throws an error with the reason if it is invalid. */
export function parseNever(text: string): NeverList {
  const list = JSON.parse(text) as unknown;
  if (!isJsonObject(list)) throw new TypeError("it must be an object with a list of roles for each function");
  for (const [name, roles] of Object.entries(list)) {
    if (name === FLOW) for (const pair of [roles].flat()) parsePair(pair);
    else if (!Array.isArray(roles) || roles.length === 0 || !roles.every((role) => typeof role === "string"))
      throw new TypeError(`${quote(name)} must have a list of roles`);
    if (name !== FLOW && name.startsWith("*") && name !== "*" && !EFFECTS.has(name))
      throw new TypeError(`${quote(name)} is not one of *, ${[...EFFECTS.keys()].join(", ")}`);
  }
  return list as Record<string, string[]>;
}

/**
 * What the current access grants although the list forbids it, and names in the list that the service does not have, because a misspelt
 * name would forbid nothing. One sentence for each.
 */
export function findForbidden(never: NeverList, now: AccessLock): string[] {
  const columns = new Set([NO_ROLE, ...Object.values(now.functions).flatMap(({ roles }) => Object.keys(roles))]);
  return Object.entries(never).flatMap(([name, roles]) => {
    if (name === FLOW) return roles.flatMap((pair) => flowsOf(pair, now, [...columns]));
    const functions = Object.keys(now.functions).filter((functionName) => isMeant(name, functionName, now));
    const unknown = functions.length > 0 || name.startsWith("*") ? [] : [`the service has no function ${quote(name)}`];
    return [
      ...unknown,
      ...roles
        .filter((role) => !columns.has(role))
        .map((role) => `${quote(name)}: the service has no role ${quote(role)}`),
      ...functions.flatMap((functionName) => roles.flatMap((role) => granted(functionName, role, now))),
    ];
  });
}

/** The member with forbidden pairs, such as `*untrusted -> *destructive`. */
const FLOW = "flow";
const KINDS = ["*untrusted", "*secret", "*destructive", "*sends"];

function parsePair(pair: unknown): [source: string, sink: string] {
  const [source = "", sink = "", ...more] = typeof pair === "string" ? pair.split("->").map((part) => part.trim()) : [];
  const unknown = [source, sink].find((part) => part === "" || (part.startsWith("*") && !KINDS.includes(part)));
  if (unknown !== undefined || more.length > 0)
    throw new TypeError(
      `"flow" must have pairs such as "*untrusted -> *destructive", with functions or ${KINDS.join(", ")}`,
    );
  return [source, sink];
}

/** Pairs that a role holds, and that no data-flow rule asks about or denies. */
function flowsOf(pair: string, now: AccessLock, roles: readonly string[]): string[] {
  const [from, to] = parsePair(pair);
  const isSink = (name: string): boolean => {
    const one = now.functions[name]!;
    return (
      to === name ||
      (to === "*sends" ? (one.flow?.sends ?? []).length > 0 : to === "*destructive" && one.effect === "destructive")
    );
  };
  return flowPairs(now, roles)
    .filter(
      ({ source, label, sink, verdict }) =>
        verdict !== "asked" && verdict !== "denied" && (from === source || from === `*${label}`) && isSink(sink),
    )
    .map(({ role, source, sink }) => `data from ${source} may reach ${sink} as ${quote(role)}`);
}

function isMeant(name: string, functionName: string, { functions }: AccessLock): boolean {
  const effect = EFFECTS.get(name);
  return name === functionName || name === "*" || (effect !== undefined && functions[functionName]!.effect === effect);
}

function granted(functionName: string, role: string, { functions, defaultRole }: AccessLock): string[] {
  const may = (column: string) => cellFor(functions[functionName]!, column) !== "hidden";
  if (role !== NO_ROLE) return may(role) ? [`${quote(role)} may call ${functionName}`] : [];
  if (may(NO_ROLE)) return [`a query without a role may call ${functionName}`];
  const isDefault = defaultRole !== undefined && may(defaultRole);
  return isDefault
    ? [`a query without a role may call ${functionName}, as the default role ${quote(defaultRole)}`]
    : [];
}

/**
 * Functions with call-by-call decisions although no declared case is refused: an `authorize` that always returns true
 * would pass all their cases. An approval refuses nothing, so it counts only where no `authorize` decides.
 */
export function findUnrefused({ functions }: AccessLock): string[] {
  return Object.entries(functions).flatMap(([name, { roles, authorize }]) => {
    const decided = Object.values(roles).flatMap((cell) =>
      typeof cell === "object" && cell.access === "conditional"
        ? [Object.entries(cell.cases).flatMap(([name, verdict]) => (isCounted(name) ? verdict : []))]
        : [],
    );
    const isRefused = decided.flat().some((verdict) => verdict === "denied" || (verdict === "approval" && !authorize));
    return decided.length === 0 || isRefused ? [] : [name];
  });
}
