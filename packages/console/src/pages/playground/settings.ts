import type { RunTrace, Span } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { BodyOf } from "../../api/routes.ts";
import type { playground } from "../../state/page-search.ts";
import { PROVIDERS } from "../agents/model-choice.tsx";

export type PlaygroundSearch = ReturnType<typeof playground>;
/** The body of a query of a member. */
export type QueryBody = ReturnType<typeof bodyOf> & { instructions?: string };

/** What a query is sent with besides its text and thread, as typed; empty if not set. */
export interface Settings {
  role: string;
  /** The role of the second lane when two roles are compared. */
  role2: string;
  compare: boolean;
  session: string;
  analysis: boolean;
  provider: "" | "anthropic" | "openai" | "gemini";
  model: string;
  maxTokens: string;
  temperature: string;
  context: string;
  /** Replaces the agent's instructions. */
  instructions: string;
  /** JSON Schema of the answer. */
  schema: string;
  /** Of the second lane; empty: as in the first one. `agent`: the model of the agent. */
  provider2: "" | "agent" | "anthropic" | "openai" | "gemini";
  model2: string;
  context2: string;
  instructions2: string;
  /** The second lane uses the agent's instructions, also if the first one replaces them. */
  agentInstructions2: boolean;
}

export type SettingsErrors = { [Name in keyof Settings]?: string | undefined };

/** Copies of limits in `@patchbay/protocol`, whose schemas would add to the bundle; a test compares the two. */
export const LABEL_UNITS = 200;
export const QUERY_UNITS = 100_000;
export const CONTEXT_BYTES = 65_536;
export const MAX_TOKENS = 1_000_000;
export const INSTRUCTIONS_UNITS = 20_000;

/** Longer texts are left out of the URL: servers and proxies limit its length. */
const TEXT_IN_URL = 1_500;

/** The settings in the URL. */
export function settingsOf(search: PlaygroundSearch): Settings {
  const { role = "", role2 = "", session = "", provider = "", model = "", context = "" } = search;
  const { maxTokens = "", temperature = "", instructions = "", schema = "" } = search;
  const { provider2 = "", model2 = "", context2 = "", instructions2 = "" } = search;
  const compare = search.compare === "1" || role2 !== "";
  const agentInstructions2 = search.agentInstructions2 === "1";
  const analysis = search.mode === "analysis";
  return {
    role,
    session,
    analysis,
    provider,
    model,
    maxTokens,
    temperature,
    context,
    instructions,
    schema,
    compare,
    role2,
    provider2,
    model2,
    context2,
    instructions2,
    agentInstructions2,
  };
}

/** The settings of a lane of a comparison: its role, and its context, model and instructions where they differ from the first lane's. */
export function settingsOfLane(settings: Settings, lane: number): Settings {
  if (lane === 0) return settings;
  const { role2, provider2, model2, context2, instructions2, agentInstructions2 } = settings;
  return {
    ...settings,
    role: role2,
    ...(context2.trim() && { context: context2 }),
    ...(provider2 && (provider2 === "agent" ? { provider: "", model: "" } : { provider: provider2, model: model2 })),
    ...(agentInstructions2 ? { instructions: "" } : instructions2.trim() && { instructions: instructions2 }),
  };
}

/** The settings of a run. A provider that queries cannot select, such as the offline model, becomes the default. */
export function settingsOfRun(run: RunTrace): Settings {
  const provider = PROVIDERS.find(({ value }) => value === run.provider)?.value ?? "";
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
    instructions: run.instructions ?? "",
    schema: run.settings.responseSchema === null ? "" : JSON.stringify(run.settings.responseSchema, null, 2),
  };
}

/** The search parameters for these settings; `settingsOf` reads them. */
export function searchOfSettings(settings: Settings): PlaygroundSearch {
  const { role, role2, compare, session, analysis, provider, model, maxTokens, temperature, context } = settings;
  const { instructions, schema, provider2, model2, context2, instructions2, agentInstructions2 } = settings;
  const ofSecond = (text: string) => (compare && text) || undefined;
  const short = (text: string | undefined = "") => (text.length <= TEXT_IN_URL && text) || undefined;
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
    context: short(context),
    instructions: short(instructions),
    schema: short(schema),
    provider2: (compare && provider2) || undefined,
    model2: ofSecond(provider2 && model2),
    context2: short(ofSecond(context2)),
    instructions2: short(ofSecond(instructions2)),
    agentInstructions2: compare && agentInstructions2 ? "1" : undefined,
  };
}

/** Errors by setting. */
export function validateSettings(settings: Settings): SettingsErrors {
  const { provider, maxTokens, temperature } = settings;
  const label = (text: string) => (text.length > LABEL_UNITS ? `Enter at most ${LABEL_UNITS} characters.` : undefined);
  const tokens = Number(maxTokens);
  const temperatureValue = Number(temperature);
  return defined({
    role: label(settings.role),
    role2: settings.compare ? label(settings.role2) : undefined,
    session: label(settings.session),
    model: label(settings.model),
    maxTokens:
      provider && maxTokens.trim() && !(Number.isInteger(tokens) && tokens >= 1 && tokens <= MAX_TOKENS)
        ? "Enter a whole number from 1 to 1,000,000."
        : undefined,
    temperature:
      provider && temperature.trim() && !(temperatureValue >= 0 && temperatureValue <= 2)
        ? "Enter a number from 0 to 2."
        : undefined,
    context: checkContext(settings.context),
    instructions: checkInstructions(settings.instructions),
    schema: checkObject(settings.schema, '{"type": "object"}'),
    model2: settings.compare ? label(settings.model2) : undefined,
    context2: settings.compare ? checkContext(settings.context2) : undefined,
    instructions2:
      settings.compare && !settings.agentInstructions2 ? checkInstructions(settings.instructions2) : undefined,
  });
}

const checkInstructions = (text: string): string | undefined =>
  text.length > INSTRUCTIONS_UNITS ? "Enter at most 20,000 characters." : undefined;

function checkContext(text: string): string | undefined {
  if (new TextEncoder().encode(text).byteLength > CONTEXT_BYTES) return "Enter at most 64 KiB.";
  return checkObject(text, '{"userId": "u_1"}');
}

function checkObject(text: string, example: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : `Enter a JSON object such as ${example}.`;
  } catch (error) {
    return error instanceof Error ? error.message : "Invalid JSON.";
  }
}

const defined = (errors: SettingsErrors): SettingsErrors =>
  Object.fromEntries(Object.entries(errors).filter(([, error]) => error !== undefined));

interface Sent {
  query: string;
  role: string;
  threadId: string | undefined;
}

/** The body of a query of a member. The settings must be valid. */
export const memberBodyOf = (settings: Settings, sent: Sent): QueryBody => ({
  ...bodyOf(settings, sent),
  ...(settings.instructions.trim() && { instructions: settings.instructions }),
});

/** The body of a query for the API, which cannot replace instructions. The settings must be valid. */
export function bodyOf(settings: Settings, sent: Sent) {
  const { session, analysis, provider, model, maxTokens, temperature, context, schema } = settings;
  return {
    query: sent.query,
    ...(sent.threadId !== undefined && { threadId: sent.threadId }),
    ...(session && { sessionId: session }),
    ...(sent.role && { role: sent.role }),
    ...(context.trim() && { contextJson: JSON.stringify(JSON.parse(context)) }),
    ...(analysis && { analysisMode: true }),
    ...(schema.trim() && { responseSchema: JSON.parse(schema) as Record<string, unknown> }),
    ...(provider && {
      llmConfig: {
        provider,
        ...(model && { model }),
        ...(maxTokens.trim() && { maxTokens: Number(maxTokens) }),
        ...(temperature.trim() && { temperature: Number(temperature) }),
      },
    }),
  } satisfies BodyOf<"POST", "/agents/:agent_id/playground">;
}

const route = getRouteApi("/shell/agents/$agentId/playground");
const TYPING_MS = 300;

/**
 * The settings, initially `initial` or those of the URL, and a function that changes them. A change applies immediately, because a
 * query sent while the URL lags behind would go out with the role typed before. The URL is updated when typing pauses. Navigation
 * that changes the URL sets the settings.
 */
export function useSettings(initial?: Settings): [Settings, (changed: Partial<Settings>) => void] {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [settings, setSettings] = useState(() => initial ?? settingsOf(search));
  const inUrl = JSON.stringify(searchOfSettings(settingsOf(search)));
  const [seen, setSeen] = useState(inUrl);
  const [written, setWritten] = useState(inUrl);
  if (inUrl !== seen) {
    setSeen(inUrl);
    if (inUrl !== written) setSettings(settingsOf(search));
  }
  const wanted = JSON.stringify(searchOfSettings(settings));
  useEffect(() => {
    if (wanted === inUrl) return undefined;
    const timer = setTimeout(() => {
      setWritten(wanted);
      const changed = searchOfSettings(settings);
      void navigate({
        search: (before) => ({ ...before, ...changed, again: undefined }),
        replace: true,
        resetScroll: false,
      });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted, inUrl, navigate]);
  return [settings, (changed) => setSettings((before) => ({ ...before, ...changed }))];
}
