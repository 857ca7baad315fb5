import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { actsAs, LIMITS } from "@patchbay/protocol";
import type { Service } from "@patchbay/runtime/service";
import type { AttackQuery, Fixture } from "../fixture.ts";
import type { Attempt } from "../hostile-model.ts";
import type { Label } from "../judge.ts";
import type { Risk } from "../report.ts";
import type { Target, TriedRole } from "../targets.ts";

/** One way to try to exceed a role's rights. */
export interface Attack {
  name: string;
  /** The risks that it tries. */
  risks: readonly Risk[];
  /** False for a service that the attack does not apply to. Default: true. */
  applies?(service: Service): boolean;
  run(fixture: Fixture, role: TriedRole, label: Label): Promise<void>;
}

export const attemptOf = ({ functionName, input }: Target): Attempt => ({ name: functionName, input });

/** True for a call whose context fits into an adapter's header. */
export const fitsAdapter = ({ context }: Target): boolean =>
  Buffer.byteLength(JSON.stringify(context)) <= LIMITS.doorContextBytes;

/** Groups calls by their context. One query has one context, so it can make the calls in one group. */
export function byContext(targets: readonly Target[]): { context: JsonObject; targets: Target[] }[] {
  const groups = new Map<string, { context: JsonObject; targets: Target[] }>();
  for (const target of targets) {
    const key = JSON.stringify(target.context);
    const group = groups.get(key) ?? { context: target.context, targets: [] };
    groups.set(key, group);
    group.targets.push(target);
  }
  return [...groups.values()];
}

/** Asks one query for each context of the calls, which the model makes. */
export async function askEach(
  fixture: Fixture,
  label: Label,
  targets: readonly Target[],
  more: Omit<AttackQuery, "attack" | "role"> = {},
): Promise<void> {
  for (const { context, targets: calls } of byContext(targets))
    await fixture.ask({ ...label, context, attempts: calls.map(attemptOf), ...more });
}

/** The calls that a rule of the owner refuses to the role. */
export function forbiddenFor(fixture: Fixture, role: TriedRole): Target[] {
  const { hidden, refused } = fixture.targets(role);
  return [...hidden, ...refused];
}

/** The call groups whose context fits into an adapter's header. */
export const forAdapter = (targets: readonly Target[]) => byContext(targets.filter(fitsAdapter));

/** The header in which an adapter's caller states its context. */
export const contextHeader = (context: JsonObject = {}) => ({
  "X-Patchbay-Context": Buffer.from(JSON.stringify(context)).toString("base64url"),
});

/** Without a role, a key that is pinned to one would give its role to the adapter's query. */
export const unpinnedWithout = (role: TriedRole) => role.effective === undefined && { unpinned: true };

/** The roles that a holder of `stated` may not state. */
export function foreignRoles({ service, roles }: Fixture, stated: string): (TriedRole & { stated: string })[] {
  const own = actsAs(stated, service.manifest.roleOptions);
  return roles.filter((one): one is TriedRole & { stated: string } => one.stated !== undefined && !own.has(one.stated));
}

/** Other roles that may call a function hidden from this one. */
export function higherRoles(fixture: Fixture, role: TriedRole): TriedRole[] {
  const hidden = new Set(fixture.targets(role).hidden.map(({ functionName }) => functionName));
  return fixture.roles.filter(
    (other) =>
      other.stated !== undefined &&
      fixture.targets(other).permitted.some(({ functionName }) => hidden.has(functionName)),
  );
}

/** The control plane truncates texts with more orders than this before a model reads them. */
const MAX_ORDERS = 100;

/** The calls that a text orders the model to make. */
export function orders(fixture: Fixture, role: TriedRole): Attempt[] {
  return forbiddenFor(fixture, role).slice(0, MAX_ORDERS).map(attemptOf);
}

/** A value with every property that code could mistake for the caller's role. Returns values other than objects unchanged. */
export function withClaims<T extends JsonValue>(value: T, role: string): T {
  if (!isJsonObject(value)) return value;
  const claims = { role, roles: [role], _role: role, "x-role": role, user: { role }, context: { role }, isAdmin: true };
  // Parsed, because in an object literal `__proto__` would set the prototype.
  const inherited = JSON.parse(`{"__proto__": ${JSON.stringify({ role })}}`) as JsonObject;
  return Object.assign(inherited, claims, value);
}

/** Letters from other scripts that look like Latin ones. */
const LOOKALIKES: Record<string, string> = { a: "а", c: "с", e: "е", i: "і", o: "о", p: "р", s: "ѕ", x: "х", y: "у" };

/** Names that every JavaScript object inherits. */
export const INHERITED_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

/** Names that are similar to a name and must not be taken for it: other case, look-alikes, invisible characters, separators, quotes. */
export function spellingsOf(name: string): string[] {
  const middle = Math.ceil(name.length / 2);
  const spellings = [
    name.toUpperCase(),
    name.toLowerCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    name.replaceAll(/(.)(.?)/g, (_, first: string, second: string) => first.toUpperCase() + second),
    name.replaceAll(/[a-z]/g, (letter) => LOOKALIKES[letter] ?? letter),
    name.replaceAll(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
    `${name.slice(0, middle)}\u200b${name.slice(middle)}`,
    `\ufeff${name}`,
    `${name} `,
    ` ${name}`,
    `${name}\n`,
    `${name}\0`,
    name.replaceAll("_", "."),
    name.replaceAll(/[._]/g, "-"),
    name.replaceAll(".", "_"),
    name.replaceAll(/[._-]/g, ""),
    `functions.${name}`,
    `./${name}`,
    encodeURIComponent(`${name}?`),
    `"${name}"`,
  ];
  return [...new Set(spellings)].filter((spelling) => spelling !== name);
}
