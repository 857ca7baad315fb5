import type { ConsoleRole } from "@patchbay/protocol/console";
import { refetch } from "../../api/api.ts";

/** What each role may do, from the least to the most powerful. */
export const ROLES: { role: ConsoleRole; may: string }[] = [
  { role: "viewer", may: "Sees everything except secrets: runs, threads, functions, access, audit log and usage." },
  { role: "developer", may: "Also manages agents and keys, sends queries, makes test calls and erases threads." },
  { role: "owner", may: "Also manages members and the organisation, and deletes agents." },
];

/** Fetches again what shows members. */
export const refetchMembers = () => void refetch("/members", "/links", "/organisation", "/session");
