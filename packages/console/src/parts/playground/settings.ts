import { present } from "@patchbay/kit";
import type { RunTrace, Span } from "@patchbay/protocol/console";
import { PROVIDER_NAMES, type ProviderName, REASONING, type Reasoning } from "@patchbay/protocol/providers";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { BodyOf } from "../../api/routes.ts";
import { checkNumber, checkObject } from "../../format/typed.ts";
import type { playground } from "../../state/page-search.ts";

export type PlaygroundSearch = ReturnType<typeof playground>;
/** A member's query body. */
export type QueryBody = ReturnType<typeof bodyOf> & { instructions?: string };

/** Settings that are texts, as the URL names them; empty if not set. */
const TEXTS = [
  ...(["role", "session", "model", "maxTokens", "temperature", "context", "instructions", "schema"] as const),
  // The second lane's; empty: as in the first one.
  ...(["role2", "model2", "context2", "instructions2"] as const),
];

/** What a query is sent with besides its text and thread, as typed. `instructions` replace the agent's. */
export interface Settings extends Record<(typeof TEXTS)[number], string> {
  /** Sends each query twice, in two lanes. */
  compare: boolean;
  analysis: boolean;
  provider: "" | ProviderName;
  reasoning: "" | Reasoning;
  /** For the second lane; empty: as in the first one. `agent`: the agent's model. */
  provider2: "" | "agent" | ProviderName;
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

/** Longer texts do not go into the URL: servers and proxies limit its length. */
const TEXT_IN_URL = 1_500;

/** The settings in the URL. */
export function settingsOf(search: PlaygroundSearch): Settings {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, search[name] ?? ""])) as Pick<
    Settings,
    (typeof TEXTS)[number]
  >;
  return {
    ...texts,
    provider: search.provider ?? "",
    reasoning: search.reasoning ?? "",
    provider2: search.provider2 ?? "",
    compare: search.compare === "1" || texts.role2 !== "",
    analysis: search.mode === "analysis",
    agentInstructions2: search.agentInstructions2 === "1",
  };
}

/**
 * A comparison lane's settings: its role, and its context, model and instructions where they differ from the first
 * lane's.
 */
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

/** A run's settings. A provider that queries cannot select, such as the offline model, becomes the default. */
export function settingsOfRun(run: RunTrace): Settings {
  const provider = PROVIDER_NAMES.find((name) => name === run.provider) ?? "";
  const { maxTokens, temperature, reasoning } = run.spans.find(({ kind }) => kind === "query")?.attributes ?? {};
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
    reasoning: REASONING.find((level) => level === typed(reasoning)) ?? "",
    context: Object.keys(run.context).length === 0 ? "" : JSON.stringify(run.context, null, 2),
    instructions: run.instructions ?? "",
    schema: run.settings.responseSchema === null ? "" : JSON.stringify(run.settings.responseSchema, null, 2),
  };
}

/** The search parameters for these settings; `settingsOf` reads them. */
export function searchOfSettings(settings: Settings): PlaygroundSearch {
  const { compare, analysis, provider, reasoning, provider2, agentInstructions2 } = settings;
  const isWritten = (name: (typeof TEXTS)[number]) =>
    settings[name].length <= TEXT_IN_URL && (compare || !name.endsWith("2")) && (name !== "model2" || provider2 !== "");
  return {
    ...Object.fromEntries(TEXTS.map((name) => [name, (isWritten(name) && settings[name]) || undefined])),
    compare: compare ? "1" : undefined,
    mode: analysis ? "analysis" : undefined,
    provider: provider || undefined,
    reasoning: reasoning || undefined,
    provider2: (compare && provider2) || undefined,
    agentInstructions2: compare && agentInstructions2 ? "1" : undefined,
  };
}

/** Errors by setting. */
export function validateSettings(settings: Settings): SettingsErrors {
  const { provider, compare, agentInstructions2 } = settings;
  const label = (text: string) => (text.length > LABEL_UNITS ? `Enter at most ${LABEL_UNITS} characters.` : undefined);
  const errors: SettingsErrors = {
    role: label(settings.role),
    session: label(settings.session),
    model: label(settings.model),
    ...(provider && {
      maxTokens: checkNumber(settings.maxTokens, { min: 1, max: MAX_TOKENS, whole: true }),
      temperature: checkNumber(settings.temperature, { min: 0, max: 2, whole: false }),
    }),
    context: checkContext(settings.context),
    instructions: checkInstructions(settings.instructions),
    schema: checkObject(settings.schema, '{"type": "object"}'),
    ...(compare && {
      role2: label(settings.role2),
      model2: label(settings.model2),
      context2: checkContext(settings.context2),
      ...(!agentInstructions2 && { instructions2: checkInstructions(settings.instructions2) }),
    }),
  };
  return Object.fromEntries(Object.entries(errors).filter(([, error]) => error !== undefined));
}

const checkInstructions = (text: string): string | undefined =>
  text.length > INSTRUCTIONS_UNITS ? "Enter at most 20,000 characters." : undefined;

function checkContext(text: string): string | undefined {
  if (new TextEncoder().encode(text).byteLength > CONTEXT_BYTES) return "Enter at most 64 KiB.";
  return checkObject(text, '{"userId": "u_1"}');
}

interface Sent {
  query: string;
  role: string;
  threadId: string | undefined;
}

/** A member's query body. The settings must be valid. */
export const memberBodyOf = (settings: Settings, sent: Sent): QueryBody => ({
  ...bodyOf(settings, sent),
  ...(settings.instructions.trim() && { instructions: settings.instructions }),
});

/** A query body for the API, which cannot replace instructions. The settings must be valid. */
export function bodyOf(settings: Settings, sent: Sent) {
  const { session, analysis, provider, model, reasoning, maxTokens, temperature, context, schema } = settings;
  return {
    query: sent.query,
    ...present({ threadId: sent.threadId, sessionId: session || undefined, role: sent.role || undefined }),
    ...(context.trim() && { contextJson: JSON.stringify(JSON.parse(context)) }),
    ...(analysis && { analysisMode: true }),
    ...(schema.trim() && { responseSchema: JSON.parse(schema) as Record<string, unknown> }),
    ...(provider && {
      llmConfig: {
        provider,
        ...(model && { model }),
        ...(reasoning && { reasoning }),
        ...(maxTokens.trim() && { maxTokens: Number(maxTokens) }),
        ...(temperature.trim() && { temperature: Number(temperature) }),
      },
    }),
  } satisfies BodyOf<"POST", "/agents/:agent_id/playground">;
}

const route = getRouteApi("/shell/agents/$agentId/playground");
const TYPING_MS = 300;

/**
 * The settings, initially `initial` or those in the URL, and a function that changes them. A change applies
 * immediately, because a query sent while the URL lags behind would go out with the role typed before. The URL is
 * updated when typing pauses. Navigation that changes the URL sets the settings.
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
