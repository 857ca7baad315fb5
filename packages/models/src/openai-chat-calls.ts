import { isEncoded, type JsonObject, type JsonValue } from "@patchbay/kit";
import { textOfArguments } from "./neutral-request.ts";
import type { TurnOptions } from "./turn-stream.ts";

/** A piece of a call. Compatible servers leave out the index and the id, repeat them, and change them. */
export interface CallDelta extends JsonObject {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: JsonValue };
}

export interface ChatCall {
  id: string;
  name: string;
  arguments: string;
  /** Other members, such as gateway signatures. */
  extra: JsonObject;
}

/** Nothing can follow a whole object in the same call. */
const isWhole = (call: ChatCall): boolean => isEncoded(call.arguments);
const begins = (text: string): boolean => text.trimStart().startsWith("{");

/** Joins the pieces of a turn's calls, and adds the calls to `calls`. Returns the text of the arguments that it took. */
export function callPieces(calls: ChatCall[], { names }: Pick<TurnOptions, "names">) {
  /** The call that an index's pieces belong to. */
  const open = new Map<number, ChatCall>();

  /** The call that a piece belongs to, if the wire's index and id say so, or if it follows that call. */
  function before({ index, id, function: part }: CallDelta): ChatCall | undefined {
    const byId = id ? calls.findLast((call) => call.id === id) : undefined;
    if (typeof index !== "number") return byId ?? calls.at(-1);
    const byIndex = open.get(index);
    if (!byIndex) return part?.name ? undefined : byId;
    return byIndex.id === id ? byIndex : (byId ?? byIndex);
  }

  /** Whether the piece begins another call than the one before it. */
  function isNew(call: ChatCall, { index, id, function: part }: CallDelta, text: string): boolean {
    const name = part?.name;
    if (!name) return begins(text) && isWhole(call);
    if (id && call.id !== "" && id !== call.id)
      return call.arguments === "" || text === "" || begins(text) || isWhole(call);
    if (call.name === "") return false;
    // A name may come in pieces, too.
    if (name !== call.name) return call.arguments !== "" || typeof index !== "number" || names.knows(call.name);
    if (id && id === call.id) return text !== "" && isWhole(call);
    return call.arguments === "" ? text === "" : isWhole(call);
  }

  function take(delta: CallDelta): string {
    const { index, id, function: part, type: _type, ...extra } = delta;
    const text = textOfArguments(part?.arguments);
    const last = before(delta);
    // Closing chunks repeat a call.
    if (last && id && id === last.id && part?.name === last.name && text === last.arguments && isWhole(last)) return "";
    let call = last;
    if (!call || isNew(call, delta, text)) {
      // Without a name, it is a further call of the same function.
      call = { id: "", name: part?.name ? "" : (last?.name ?? ""), arguments: "", extra: {} };
      calls.push(call);
    }
    if (typeof index === "number") open.set(index, call);
    if (id && call.id === "") call.id = id;
    if (part?.name && call.name !== part.name) call.name += part.name;
    call.arguments += text;
    Object.assign(call.extra, extra);
    return text;
  }

  return (deltas: readonly CallDelta[], closes: boolean): string => {
    const isRepeated = ({ function: part }: CallDelta, i: number) =>
      part?.name === calls[i]!.name && ["", calls[i]!.arguments].includes(textOfArguments(part.arguments));
    return closes && deltas.length === calls.length && deltas.every(isRepeated) ? "" : deltas.map(take).join("");
  };
}
