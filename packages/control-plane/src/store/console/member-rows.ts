import type { ConsoleRole } from "@patchbay/protocol/console";
import type { LinkKind } from "../../ports/console-store.ts";

/** Someone who may sign in to the console, until removed. */
export interface MemberTableRow {
  id: string;
  org_id: string;
  email: string | null;
  name: string;
  role: ConsoleRole;
  password_hash: string | null;
  created_at: number;
  last_seen_at: number | null;
  removed_at: number | null;
}

/** An open session of the console. Secrets of sessions and links are stored only as hashes. */
export interface SessionTableRow {
  hash: string;
  org_id: string;
  member_id: string;
  created_at: number;
  last_seen_at: number;
  confirmed_until: number;
  expires_at: number;
}

export interface LinkTableRow {
  hash: string;
  kind: LinkKind;
  /** These are null for setting up. */
  org_id: string | null;
  member_id: string | null;
  /** The member who made it; null for links made by a command. */
  created_by: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}
