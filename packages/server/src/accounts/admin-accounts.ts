import type { Org, Store } from "@patchbay/engine/ports/store/stores";
import { AdminError, orgOf } from "./admin-error.ts";
import type { Tiers } from "./limits.ts";
import { randomBase62 } from "./secret.ts";

/** An organisation's balance. */
export interface OrgCredits {
  orgId: string;
  balanceUsd: number;
}

/** Manages organisations and their credits. */
export interface AccountAdmin {
  /** Default tier: `sandbox`. */
  createOrg(name: string, tier?: string): Promise<Org>;
  listOrgs(): Promise<Org[]>;
  /** The organisation with this id; without an id the only one. Creates one in the sandbox tier if none exists. */
  orgFor(orgId?: string): Promise<string>;
  renameOrg(orgId: string, name: string): Promise<Org>;
  /** `usd` is a decimal amount as text, so that no digit is lost. */
  grant(orgId: string, usd: string): Promise<OrgCredits>;
  showCredits(orgId: string): Promise<OrgCredits>;
}

/** `author` names the acting member in audit entries; it is empty for commands. */
export interface AccountContext {
  tiers: Tiers;
  author: { keyId?: string };
  agentChanged?: ((agentId: string) => void) | undefined;
}

export function accountAdmin({ accounts, audit }: Store, { tiers, author }: AccountContext): AccountAdmin {
  async function createOrg(name: string, tier = "sandbox"): Promise<Org> {
    if (!Object.hasOwn(tiers, tier))
      throw new AdminError(`There is no tier ${tier}. Choose one of ${Object.keys(tiers).join(", ")}.`);
    const org = { orgId: `org_${randomBase62(22)}`, name: requireName(name), tier };
    await accounts.createOrg(org);
    await audit.record([{ orgId: org.orgId, action: "org.created", detail: { tier }, ...author }]);
    return org;
  }

  async function creditsOf(orgId: string): Promise<OrgCredits> {
    return { orgId, balanceUsd: usdOf(await accounts.balance(orgId)) };
  }

  return {
    createOrg,
    listOrgs: () => accounts.listOrgs(),

    async orgFor(orgId) {
      if (orgId !== undefined) return (await orgOf(accounts, orgId)).orgId;
      const [first, ...others] = await accounts.listOrgs();
      if (others.length > 0) throw new AdminError("There are several organisations. Name one with --org ID.");
      return (first ?? (await createOrg("default"))).orgId;
    },

    async renameOrg(orgId, name) {
      const org = { ...(await orgOf(accounts, orgId)), name: requireName(name) };
      await accounts.renameOrg(orgId, org.name);
      await audit.record([{ orgId, action: "org.renamed", ...author }]);
      return org;
    },

    async grant(orgId, usd) {
      const micros = parseUsd(usd);
      await orgOf(accounts, orgId);
      await accounts.grant(orgId, micros);
      await audit.record([{ orgId, action: "credits.granted", detail: { micros }, ...author }]);
      return creditsOf(orgId);
    },

    async showCredits(orgId) {
      await orgOf(accounts, orgId);
      return creditsOf(orgId);
    },
  };
}

/** The trimmed name. Throws `AdminError` for an empty one. */
export function requireName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === "") throw new AdminError("A name must not be empty.");
  return trimmed;
}

const MICROS = 1_000_000;
const AMOUNT = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/** A decimal amount in micro-USD, without rounding: "12.5" is 12,500,000. */
function parseUsd(text: string): number {
  const match = AMOUNT.exec(text.trim());
  const micros = match ? Number(match[1]) * MICROS + Number((match[2] ?? "").padEnd(6, "0")) : 0;
  if (micros > 0) return micros;
  throw new AdminError(
    `"${text}" is not a valid amount. Give US dollars above 0 with at most six decimals, for example 12.50.`,
  );
}

/** A micro-USD amount in US dollars. */
export function usdOf(micros: number): number {
  return micros / MICROS;
}
