import type { ConsoleRole } from "@patchbay/protocol/console";

/** What each role may do, from the least to the most powerful. */
export const ROLES: { role: ConsoleRole; may: string }[] = [
  { role: "viewer", may: "Sees everything except secrets: runs, threads, functions, access, audit log and usage." },
  { role: "developer", may: "Also manages agents and keys, sends queries, makes test calls and erases threads." },
  { role: "owner", may: "Also manages members and the organisation, and deletes agents." },
];

/** The paths that show members. */
export const MEMBER_PATHS = ["/members", "/links", "/organisation", "/session"] as const;
