import type { Credential, CredentialKind } from "@patchbay/protocol/console";

interface KindWords {
  /** Of the tab. */
  many: string;
  /** In a sentence. */
  one: string;
  title: string;
  about: string;
  /** What a revocation ends. */
  ends: string;
  /** Makes one without the console. */
  command: (agentId: string) => string;
}

export const KINDS: Record<CredentialKind, KindWords> = {
  api: {
    many: "API keys",
    one: "API key",
    title: "New API key",
    about:
      "Asks queries of this agent, and of no other. Whoever holds it says which role a query has, unless it is pinned to some.",
    ends: "Queries sent with it are refused with 401 from now on. Runs that have begun go on to their end.",
    command: (agentId) => `patchbay keys create --agent ${agentId}`,
  },
  runtime: {
    many: "Runtime keys",
    one: "runtime key",
    title: "New runtime key",
    about: "Connects the process that runs your functions. It asks no queries.",
    ends: "Runtimes connected with it are let go within seconds and cannot come back with it. Queries that need their functions fail until another is connected.",
    command: (agentId) => `patchbay runtime-keys create --agent ${agentId}`,
  },
  access: {
    many: "Access tokens",
    one: "access token",
    title: "New access token",
    about: "Opens the local variant of the interface, which `patchbay dev` alone serves. It lives for 12 hours.",
    ends: "Whoever uses the local variant with it is refused from now on.",
    command: (agentId) => `patchbay tokens create --agent ${agentId}`,
  },
};

/** What a person knows it by. */
export const nameOf = ({ label, hint }: Pick<Credential, "label" | "hint">): string => label ?? hint;
