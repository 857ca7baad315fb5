import type {
  ModelCall,
  ModelErrorKind,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  ModelTurn,
} from "@patchbay/control-plane";
import { loadControlPlane } from "./control-plane.ts";

/** A call in a script: name and arguments. The long form can also set the id that the provider gives the call. */
export type ScriptedCall =
  | readonly [name: string, input?: unknown]
  | { readonly name: string; readonly input?: unknown; readonly id?: string };

/** One turn by a scripted model. Calls in one turn run at the same time. A string is a turn that answers with it. */
export interface ScriptedTurn {
  text?: string;
  /** The model's reasoning. */
  thoughts?: readonly string[];
  /** String input is sent unchanged, so that a script can play a model with invalid JSON. */
  calls?: readonly ScriptedCall[];
  /** The provider fails with this error. The control plane retries kinds of errors that may pass: up to twice, and after the first turn of a query for up to a minute. */
  error?: ModelErrorKind;
  /** Default `calls` with calls, else `stop`. */
  stop?: ModelTurn["stop"];
  usage?: ModelTurn["usage"];
}

/** Decides a turn by the request to the model. `turn` counts from 0. */
export type DecideTurn = (
  request: ModelRequest,
  turn: number,
) => ScriptedTurn | string | Promise<ScriptedTurn | string>;

/** A list of turns, written or decided by a function, or one function that decides all turns. */
export type Script = readonly (ScriptedTurn | string | DecideTurn)[] | DecideTurn;

/** A model that follows a script. */
export interface ScriptedModel extends ModelProvider {
  /** The requests to the model, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Creates a model that follows a script. It throws an error if it is asked for more turns than the list has.
 *
 * ```ts
 * const model = scriptedModel([{ calls: [["get_order", { orderId: "42" }]] }, "It was sent yesterday."]);
 * ```
 */
export function scriptedModel(script: Script): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    name: "scripted",
    requests,
    async *stream(request, { signal }) {
      const index = requests.push({ ...request, messages: [...request.messages] }) - 1;
      const turn = typeof script === "function" ? script : script[index];
      const scripted = await unlessAborted(typeof turn === "function" ? turn(request, index) : turn, signal);
      if (scripted === undefined) throw new Error(missingTurn(script.length, index));
      yield* play(typeof scripted === "string" ? { text: scripted } : scripted, index);
    },
  };
}

function missingTurn(length: number, index: number): string {
  return `The script has ${length} turns, and the model was asked for turn ${index + 1}. End the script with a text, or add a turn.`;
}

async function* play(turn: ScriptedTurn, index: number): AsyncGenerator<ModelEvent> {
  if (turn.error !== undefined) {
    const { ModelError } = await loadControlPlane();
    throw new ModelError(turn.error, "an error from the script");
  }
  const { text = "", thoughts = [], calls = [], usage = { input: 10, cachedInput: 0, output: 5 } } = turn;
  for (const thought of thoughts) yield { type: "thoughtDelta", text: thought };
  for (const word of text.match(/\s*\S+\s*/g) ?? []) yield { type: "textDelta", text: word };
  yield {
    type: "end",
    turn: {
      text,
      thoughts: [...thoughts],
      calls: calls.map((call, position) => modelCall(call, `scripted-${index + 1}-${position + 1}`)),
      stop: turn.stop ?? (calls.length > 0 ? "calls" : "stop"),
      usage,
      model: "scripted",
    },
  };
}

function modelCall(call: ScriptedCall, id: string): ModelCall {
  const { name, input, ...named } = "name" in call ? call : { name: call[0], input: call[1] };
  return { id, ...named, name, arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}) };
}

/** Waits for `promise`, or throws the signal's reason if it is aborted first. */
export async function unlessAborted<T>(promise: T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
