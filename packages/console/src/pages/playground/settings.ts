import type { RunTrace, Span } from "@patchbay/protocol/console";
import type { BodyOf } from "../../api/routes.ts";
import type { playground } from "../../page-search.ts";

export type PlaygroundSearch = ReturnType<typeof playground>;
export type QueryBody = BodyOf<"POST", "/agents/:agent_id/playground">;

/** Everything that a query is sent with besides its text and thread. Texts as they are typed, empty where not set. */
export interface Settings {
  role: string;
  /** Of the second lane, where roles are compared. */
  role2: string;
  compare: boolean;
  session: string;
  analysis: boolean;
  provider: "" | "anthropic" | "openai" | "gemini";
  model: string;
  maxTokens: string;
  temperature: string;
  context: string;
}

export type Faults = { [Name in keyof Settings]?: string | undefined };

/** As the protocol has them; a test holds the two together. */
export const LABEL_UNITS = 200;
export const QUERY_UNITS = 100_000;
export const CONTEXT_BYTES = 65_536;
export const MAX_TOKENS = 1_000_000;

/** A longer context is left out of the URL, which servers and people take up to some length alone. */
const CONTEXT_IN_URL = 1_500;

export function settingsOf(search: PlaygroundSearch): Settings {
  const { role = "", role2 = "", session = "", provider = "", model = "", context = "" } = search;
  const { maxTokens = "", temperature = "" } = search;
  const compare = search.compare === "1" || role2 !== "";
  const analysis = search.mode === "analysis";
  return { role, role2, compare, session, analysis, provider, model, maxTokens, temperature, context };
}

const PROVIDERS = ["anthropic", "openai", "gemini"] as const;

/** Those that a run was asked with. A model that a caller cannot name is left to the service. */
export function settingsOfRun(run: RunTrace): Settings {
  const provider = PROVIDERS.find((name) => name === run.provider) ?? "";
  const { maxTokens, temperature } = run.spans.find(({ kind }) => kind === "query")?.attributes ?? {};
  const typed = (value: Span["attributes"][string] = "") => (provider === "" ? "" : value.toString());
  return {
    ...settingsOf({}),
    role: run.role ?? "",
    session: run.sessionId ?? "",
    analysis: run.analysisMode,
    provider,
    model: typed(run.model),
    maxTokens: typed(maxTokens),
    temperature: typed(temperature),
    context: Object.keys(run.context).length === 0 ? "" : JSON.stringify(run.context, null, 2),
  };
}

/** The search parameters that bring these settings back. */
export function searchOfSettings(settings: Settings): PlaygroundSearch {
  const { role, role2, compare, session, analysis, provider, model, maxTokens, temperature, context } = settings;
  return {
    role: role || undefined,
    role2: (compare && role2) || undefined,
    compare: compare ? "1" : undefined,
    session: session || undefined,
    mode: analysis ? "analysis" : undefined,
    provider: provider || undefined,
    model: model || undefined,
    maxTokens: maxTokens || undefined,
    temperature: temperature || undefined,
    context: (context.length <= CONTEXT_IN_URL && context) || undefined,
  };
}

/** What would be refused, by the setting that it is in. */
export function faultsOf(settings: Settings): Faults {
  const { provider, maxTokens, temperature } = settings;
  const label = (text: string) => (text.length > LABEL_UNITS ? `At most ${LABEL_UNITS} characters` : undefined);
  const tokens = Number(maxTokens);
  const warmth = Number(temperature);
  return present({
    role: label(settings.role),
    role2: settings.compare ? label(settings.role2) : undefined,
    session: label(settings.session),
    model: label(settings.model),
    maxTokens:
      provider && maxTokens.trim() && !(Number.isInteger(tokens) && tokens >= 1 && tokens <= MAX_TOKENS)
        ? "A whole number from 1 to 1,000,000"
        : undefined,
    temperature: provider && temperature.trim() && !(warmth >= 0 && warmth <= 2) ? "A number from 0 to 2" : undefined,
    context: faultOfContext(settings.context),
  });
}

function faultOfContext(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  if (new TextEncoder().encode(text).byteLength > CONTEXT_BYTES) return "At most 64 KiB";
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'It must be a JSON object, as in {"customerId": "c_1"}';
  } catch (error) {
    return error instanceof Error ? error.message : "It is not JSON";
  }
}

const present = (faults: Faults): Faults =>
  Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault !== undefined));

/** The body of a query, as the service takes it. Settings must have no faults. */
export function bodyOf(settings: Settings, asked: { query: string; role: string; threadId: string | undefined }) {
  const { session, analysis, provider, model, maxTokens, temperature, context } = settings;
  return {
    query: asked.query,
    ...(asked.threadId !== undefined && { threadId: asked.threadId }),
    ...(session && { sessionId: session }),
    ...(asked.role && { role: asked.role }),
    ...(context.trim() && { contextJson: JSON.stringify(JSON.parse(context)) }),
    ...(analysis && { analysisMode: true }),
    ...(provider && {
      llmConfig: {
        provider,
        ...(model && { model }),
        ...(maxTokens.trim() && { maxTokens: Number(maxTokens) }),
        ...(temperature.trim() && { temperature: Number(temperature) }),
      },
    }),
  } satisfies QueryBody;
}
