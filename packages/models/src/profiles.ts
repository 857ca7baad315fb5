import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { monotonicMs } from "@patchbay/kit/time";

/** What a server takes of a request. Absent: unknown, so all of it is sent until the server refuses a part. */
export interface Profile {
  /** True for a server that refuses members which its own documentation lacks. */
  strict?: boolean | undefined;
  /** Whether it takes `stream_options`. */
  streamOptions?: boolean | undefined;
  /** Whether it takes a model's thoughts back. Some require them. */
  thoughts?: boolean | undefined;
  /** The most functions that a request may declare. */
  maxTools?: number | undefined;
}

/** As the servers' documentation and their users report them, November 2026. */
export const PROFILES = {
  groq: { thoughts: false, maxTools: 128 },
  mistral: { strict: true, streamOptions: false, thoughts: false },
  deepseek: { thoughts: true, maxTools: 128 },
  openrouter: { thoughts: true },
  ollama: { strict: false },
  vllm: { strict: false },
  "llama.cpp": { strict: false },
  "lm-studio": { strict: false },
} as const satisfies Record<string, Profile>;

/** The profile of the server at an address that only one service has. */
const BY_HOST: [RegExp, Profile][] = [
  [/(^|\.)groq\.com$/, PROFILES.groq],
  [/(^|\.)mistral\.ai$/, PROFILES.mistral],
  [/(^|\.)deepseek\.com$/, PROFILES.deepseek],
  [/(^|\.)openrouter\.ai$/, PROFILES.openrouter],
];

/** Members that a request can do without, and how refusals name them. Nothing else may be left out. */
const PARTS: Record<string, RegExp> = {
  stream_options: /stream_options/,
  // Not the name of an item's type, in what OpenAI says about the order of items.
  reasoning: /(?<!type ['"`])\breasoning(?!_)/,
  reasoning_content: /reasoning_content/,
  reasoning_effort: /reasoning_effort/,
  // Claude compiles the strict schemas of a request into one grammar, whose exact limit it does not publish.
  strict: /['"`.]strict\b|too complex for compilation|grammar is too large/,
  parallel_tool_calls: /parallel_tool_calls/,
  prompt_cache_key: /prompt_cache_key/,
  cache_control: /cache_control/,
};
const THOUGHTS = ["reasoning", "reasoning_content"];

/** How long a refusal is remembered: the server may be updated. */
const REMEMBERED_MS = 3_600_000;

type Send = (body: JsonObject, signal: AbortSignal) => Promise<Response>;

/** One server's profile: what is stated, and what its refusals teach. */
export type ServerProfile = ReturnType<typeof createProfile>;

export function createProfile({
  profile: stated,
  baseUrl = "",
}: {
  profile?: Profile | undefined;
  baseUrl?: string | undefined;
}) {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  const profile: Profile = stated ?? BY_HOST.find(([pattern]) => pattern.test(host))?.[1] ?? {};
  const { strict, streamOptions, thoughts, maxTools } = profile;
  const refusedAt = new Map<string, number>();
  const stays = [
    ...(streamOptions === false ? ["stream_options"] : []),
    ...(thoughts === false ? THOUGHTS : []),
    ...(strict ? ["parallel_tool_calls", "prompt_cache_key", "cache_control", "strict"] : []),
  ];

  /** The members that are not sent now. */
  function left(): string[] {
    for (const [name, at] of refusedAt) if (monotonicMs() - at >= REMEMBERED_MS) refusedAt.delete(name);
    return [...new Set([...stays, ...refusedAt.keys()])];
  }

  /** The members of a request that its refusal names. */
  function refusedBy(error: unknown, sent: JsonObject): string[] {
    const { status, message } = (error ?? {}) as { status?: number; message?: string };
    if ((status !== 400 && status !== 422) || message === undefined) return [];
    // A stated profile wins: a server that wants thoughts back must not lose them to an unclear text.
    const kept = thoughts === true ? THOUGHTS : [];
    const refused = Object.keys(PARTS).filter((name) => PARTS[name]!.test(message) && !kept.includes(name));
    return refused.filter((name) => !isDeepStrictEqual(without(sent, [name]), sent));
  }

  return {
    left,
    maxTools,
    /** Sends a request without what the server refuses, and once more without each part that it turns out to refuse. */
    adapt:
      (send: Send): Send =>
      async (body, signal) => {
        const learned: string[] = [];
        for (;;) {
          const sent = without(body, [...left(), ...learned]);
          try {
            const response = await send(sent, signal);
            for (const name of learned) refusedAt.set(name, monotonicMs());
            return response;
          } catch (error) {
            const refused = refusedBy(error, sent);
            if (refused.length === 0) throw error;
            learned.push(...refused);
          }
        }
      },
  };
}

/** A request without these members in the objects that the wire defines: schemas and arguments stay. */
function without(body: JsonObject, names: readonly string[]): JsonObject {
  if (names.length === 0) return body;
  const bare = (one: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(one).flatMap(([name, value]) => {
        if (names.includes(name)) return [];
        const holds = ["messages", "system", "tools", "content"].includes(name) && Array.isArray(value);
        if (holds) return [[name, value.map((item) => (isJsonObject(item) ? bare(item) : item))]];
        return [[name, name === "function" && isJsonObject(value) ? bare(value) : value]];
      }),
    );
  return bare(body);
}
