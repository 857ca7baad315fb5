import type { NewCredential } from "./credentials.ts";
import type { NewMember } from "./members.ts";
import type { NewServiceToken } from "./service-tokens.ts";
import type { AuditEntry } from "../records.ts";

/** What the first start can set up, in this order. */
export const FIRST_START_NAMES = [
  "organisation",
  "agent",
  "agent_id",
  "api_key",
  "runtime_key",
  "owner",
  "owner_password",
  "service_token",
] as const;
export type FirstStartName = (typeof FIRST_START_NAMES)[number];

/** What was set up: the value, or a secret's hash. */
export interface FirstStartValue {
  orgId: string;
  value: string;
}

/** Rows that a first start adds. It skips existing ones. */
export interface FirstStartPlan {
  orgId: string;
  /** Values to record. */
  values: Partial<Record<FirstStartName, string>>;
  org?: { orgId: string; name: string; tier: string };
  agent?: { agentId: string; orgId: string; name: string; instructions: string };
  credentials: (NewCredential & { kind: "api" | "runtime"; label: string })[];
  member?: NewMember;
  serviceToken?: NewServiceToken;
  audit: (AuditEntry & { orgId: string })[];
}

/** What starts with `--init-` options have set up. */
export interface FirstStartStore {
  recorded(): Promise<Partial<Record<FirstStartName, FirstStartValue>>>;
  /**
   * Stores a whole plan, or nothing: `recorded` when another replica has recorded one of its values, `member_exists`
   * when a member already has the address.
   */
  apply(plan: FirstStartPlan): Promise<"stored" | "recorded" | "member_exists">;
  /** The credential or service token with this hash, in any state. */
  secretWith(
    hash: string,
  ): Promise<{ kind: string; orgId: string; agentId: string | null; active: boolean } | undefined>;
}
