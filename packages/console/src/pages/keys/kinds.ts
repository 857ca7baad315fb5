import type { Credential, CredentialKind } from "@patchbay/protocol/console";

interface KindWords {
  /** The label of the tab. */
  plural: string;
  /** The name in a sentence. */
  singular: string;
  title: string;
  about: string;
  /** What stops working after a revocation. */
  ends: string;
  /** The CLI command that creates one. */
  command: string;
}

export const KINDS: Record<CredentialKind, KindWords> = {
  api: {
    plural: "API keys",
    singular: "API key",
    title: "New API key",
    about: "Lets a client query this agent. The client picks the role unless you restrict it.",
    ends: "Queries with this key fail with 401. Runs in progress continue.",
    command: "keys create",
  },
  runtime: {
    plural: "Runtime keys",
    singular: "runtime key",
    title: "New runtime key",
    about: "Connects a runtime to this agent. It cannot send queries.",
    ends: "Runtimes with this key are disconnected within seconds. Queries that need their functions fail until another runtime connects.",
    command: "runtime-keys create",
  },
  access: {
    plural: "Access tokens",
    singular: "access token",
    title: "New access token",
    about: "Gives access to the local API, which only the development service has. It expires after 12 hours.",
    ends: "Requests to the local API with this token fail.",
    command: "tokens create",
  },
};

/** The label, or the visible part of the secret. */
export const nameOf = ({ label, hint }: Pick<Credential, "label" | "hint">): string => label ?? hint;

/** Keys that end this soon show their end instead of "active". */
const SOON_MS = 7 * 86_400_000;

/** The end of an active key that ends soon, such as a rotated one in its overlap. */
export function endsSoon(
  { state, expiresAt }: Pick<Credential, "state" | "expiresAt">,
  now: number,
): string | undefined {
  const soon = state === "active" && expiresAt !== null && Date.parse(expiresAt) - now < SOON_MS;
  return soon ? expiresAt : undefined;
}

/** When a new secret expires, in days. */
export const EXPIRIES = [
  { value: "", label: "Never" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

/** How long an old secret stays valid after a rotation, in seconds. */
export const OVERLAPS = [
  { value: "0", label: "None: the old secret stops working immediately" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
];
