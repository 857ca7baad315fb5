import type { ChosenModel, ModelCatalog, ModelError, ModelRequest, ModelTurn } from "../../src/ports/model-provider.ts";

/** One turn as a test writes it; calls are `[name, arguments]`. */
export interface ScriptedTurn extends Partial<Omit<ModelTurn, "calls">> {
  calls?: (readonly [name: string, args: unknown])[];
  fail?: ModelError;
  /** Waits for this before it answers. */
  until?: Promise<unknown>;
}

/** A model that answers from a script and keeps what it was asked. */
export function scriptedModel(turns: ScriptedTurn[] | ((request: ModelRequest, index: number) => ScriptedTurn)) {
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
        if (turn.fail) throw turn.fail;
        for (const word of (turn.text ?? "").match(/\S+\s*/g) ?? []) yield { type: "textDelta", text: word };
        yield { type: "end", turn: turnOf(turn, index) };
      },
    },
  };
  const catalog: ModelCatalog = {
    choose: (wanted) => (wanted?.provider === "openai" ? { missing: "openai" } : chosen),
  };
  return { catalog, requests };
}

function turnOf({ calls = [], fail: _fail, until: _until, ...rest }: ScriptedTurn, index: number): ModelTurn {
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
