import type {
  ChosenModel,
  ModelCatalog,
  ModelError,
  ModelRequest,
  ModelTurn,
  PartialUsage,
  TokenUsage,
} from "../../src/ports/model-provider.ts";

/** One turn as a test writes it; calls are `[name, arguments]`. */
export interface ScriptedTurn extends Partial<Omit<ModelTurn, "calls">> {
  calls?: (readonly [name: string, args: unknown])[];
  /** Thrown after the text was streamed. */
  fail?: ModelError;
  /** Called after the text was streamed; the attempt then waits for its abort. */
  stall?: () => void;
  /** Usage of an attempt that fails or stalls. */
  cut?: PartialUsage;
  /** The attempt waits for this before it answers. */
  until?: Promise<unknown>;
}

type Script = ScriptedTurn[] | ((request: ModelRequest, index: number) => ScriptedTurn);

/** A model that answers from a script and keeps its requests. */
export function scriptedModel(turns: Script) {
  const requests: ModelRequest[] = [];
  const chosen: ChosenModel = {
    model: "scripted-1",
    cost: (usage) => usage.input + usage.output * 2,
    provider: {
      name: "scripted",
      async *stream(request, { signal }) {
        const index = requests.push({ ...request, messages: [...request.messages] }) - 1;
        const turn = typeof turns === "function" ? turns(request, index) : (turns[index] ?? { text: "out of script" });
        if (turn.until) await Promise.race([turn.until, aborted(signal)]);
        signal.throwIfAborted();
        for (const word of (turn.text ?? "").match(/\S+\s*/g) ?? []) yield { type: "textDelta", text: word };
        turn.stall?.();
        if (turn.stall) await aborted(signal).catch(() => {});
        if (turn.cut) yield { type: "cut", ...turn.cut };
        signal.throwIfAborted();
        if (turn.fail) throw turn.fail;
        yield { type: "end", turn: turnOf(turn, index) };
      },
    },
  };
  const catalog: ModelCatalog = {
    choose: (wanted) => (wanted?.provider === "openai" ? { missing: "openai" } : chosen),
  };
  return { catalog, requests };
}

/** Models by provider; the first one is the default. Each has the name under which it is chosen; a token costs `rate` micro-USD. */
export function severalModels(scripts: Record<string, Script>, rates: Record<string, number> = {}) {
  const models = new Map(Object.entries(scripts).map(([name, turns]) => [name, scriptedModel(turns)]));
  const catalog: ModelCatalog = {
    choose({ provider = Object.keys(scripts)[0] ?? "none", model = "first-1" } = {}) {
      const scripted = models.get(provider);
      if (!scripted) return { missing: provider };
      const { stream } = (scripted.catalog.choose() as ChosenModel).provider;
      const rate = rates[provider] ?? 1;
      const cost = ({ input, output }: TokenUsage) => rate * (input + output);
      return { model, cost, provider: { name: provider, stream } };
    },
  };
  const asked = () => Object.fromEntries([...models].map(([name, { requests }]) => [name, requests.length]));
  return { catalog, asked, requests: (name: string) => models.get(name)!.requests };
}

function turnOf(
  { calls = [], fail: _fail, stall: _stall, cut: _cut, until: _until, ...rest }: ScriptedTurn,
  index: number,
): ModelTurn {
  return {
    text: "",
    thoughts: [],
    stop: calls.length > 0 ? "calls" : "stop",
    usage: { input: 10, cachedInput: 0, output: 5 },
    model: "scripted-1",
    ...rest,
    calls: calls.map(([name, args], i) => ({
      id: `m${index}-${i}`,
      name,
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    })),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
