import { PROVIDER_NAMES, type ProviderName } from "@patchbay/protocol/providers";
import type { ModelProvider } from "@patchbay/engine/ports/model-provider";
import type { Account } from "./account.ts";
import { createAnthropic } from "./anthropic.ts";
import { createGemini } from "./gemini.ts";
import { createOpenaiChat } from "./openai-chat.ts";
import { createOpenaiResponses } from "./openai-responses.ts";
import type { ServerProfile } from "./profiles.ts";

/** How the engine uses a provider. */
export interface Wire<Account> {
  /** Whether a model of this name is the provider's. */
  owns(model: string): boolean;
  defaultModel(account: Account): string;
  /** Undefined for an account without a key or address. */
  create(account: Account, profile: ServerProfile): ModelProvider | undefined;
  /** The name that goes over the wire. Default: the same name. */
  wireModel?(model: string): string;
}

/** A compatible server may need no key. */
type OpenaiAccount = Account & { api: "responses" | "chat" };
/** Google and Amazon have credentials instead of a key. */
type KeyedAccount = Account & { apiKey: string };

const anthropic: Wire<KeyedAccount> = {
  owns: (model) => /\bclaude-/.test(model),
  defaultModel: () => "claude-sonnet-5-5",
  create: createAnthropic,
};

const openai: Wire<OpenaiAccount> = {
  // Names of no other provider are those of compatible servers.
  owns: (model) => PROVIDER_NAMES.every((name) => name === "openai" || !WIRES[name].owns(model)),
  // The newest models accept functions only in Responses.
  defaultModel: ({ api }) => (api === "chat" ? "gpt-4.1-mini" : "gpt-6.1-terra"),
  create({ api, ...account }, profile) {
    if (!account.apiKey && !account.baseUrl) return undefined;
    return (api === "chat" ? createOpenaiChat : createOpenaiResponses)(account, profile);
  },
};

const gemini: Wire<KeyedAccount> = {
  owns: (model) => /\bgemini-/.test(model),
  defaultModel: () => "gemini-3.8-flash",
  create: createGemini,
  // Gemini's own pages write names as `models/...`, and its address has that part already.
  wireModel: (model) => model.replace(/^models\//, ""),
};

/** How the engine uses each of `PROVIDERS`. */
export const WIRES = { anthropic, openai, gemini } satisfies Record<ProviderName, Wire<never>>;

/** The keys and addresses of the providers. */
export type Accounts = { [Name in ProviderName]?: Parameters<(typeof WIRES)[Name]["create"]>[0] };
