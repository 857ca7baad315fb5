import type { Credential, CredentialKind } from "@patchbay/protocol/console";

export const KINDS = {
  api: {
    /** The tab's label. */
    plural: "API keys",
    /** The name in a sentence. */
    singular: "API key",
    title: "New API key",
    about: "Lets a client query this agent. The client picks the role unless you restrict it.",
    /** What stops working after a revocation. */
    ends: "Queries with this key fail with 401. Runs in progress continue.",
    /** The CLI command that creates one. */
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
} satisfies Record<CredentialKind, object>;

/** The label, or the secret's visible part. */
export const nameOf = ({ label, hint }: Pick<Credential, "label" | "hint">): string => label ?? hint;

/** Keys that end this soon show their end instead of "active". */
const SOON_MS = 7 * 86_400_000;

/** The end for an active key that ends soon, such as a rotated one in its overlap. */
export function endsSoon(
  { state, expiresAt }: Pick<Credential, "state" | "expiresAt">,
  now: number,
): string | undefined {
  const soon = state === "active" && expiresAt !== null && Date.parse(expiresAt) - now < SOON_MS;
  return soon ? expiresAt : undefined;
}
