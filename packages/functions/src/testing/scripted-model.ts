import type {
  ModelCall,
  ModelErrorKind,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  ModelTurn,
} from "@patchbay/control-plane";
import { loadControlPlane } from "./control-plane.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** A call as a script writes it: name and arguments; the long form can also name the provider's id of the call. */
export type ScriptedCall =
  | readonly [name: string, input?: unknown]
  | { readonly name: string; readonly input?: unknown; readonly id?: string };

/** One turn of a played model. Calls of one turn run side by side. A plain text is a turn that answers with it. */
export interface ScriptedTurn {
  text?: string;
  /** Reasoning that the model shows. */
  thoughts?: readonly string[];
  /** Input that is a text is sent as it stands, so that a model which writes no JSON can be played. */
  calls?: readonly ScriptedCall[];
  /** The provider fails instead of answering. Kinds that a moment may mend are asked again, up to twice. */
  error?: ModelErrorKind;
  /** Default `calls` with calls, else `stop`. */
  stop?: ModelTurn["stop"];
  usage?: ModelTurn["usage"];
}

/** Decides a turn by what the model was sent; `turn` counts from 0. */
export type DecideTurn = (
  request: ModelRequest,
  turn: number,
) => ScriptedTurn | string | Promise<ScriptedTurn | string>;

/** Turns in order, each of them written or decided, or one function that decides them all. */
export type Script = readonly (ScriptedTurn | string | DecideTurn)[] | DecideTurn;

/** A model that says what a test wants it to say. */
export interface ScriptedModel extends ModelProvider {
  /** What the model was sent, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Plays a model. Asked for more turns than a list holds, it throws an error that says so.
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
  return `The script has ${length} turns, and the model was asked for turn ${index + 1}: end the script with a text, or add a turn.`;
}

async function* play(turn: ScriptedTurn, index: number): AsyncGenerator<ModelEvent> {
  if (turn.error !== undefined) {
    const { ModelError } = await loadControlPlane();
    throw new ModelError(turn.error, "the script says so");
  }
  const { text = "", thoughts = [], calls = [], usage = { input: 10, cachedInput: 0, output: 5 } } = turn;
  for (const thought of thoughts) yield { type: "thoughtDelta", text: thought };
  for (const word of text.match(/\s*\S+\s*/g) ?? []) yield { type: "textDelta", text: word };
  yield {
    type: "end",
    turn: {
      text,
      thoughts: [...thoughts],
      calls: calls.map((call, place) => modelCall(call, `scripted-${index + 1}-${place + 1}`)),
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
