import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue } from "@patchbay/kit";
import type { Message, ModelRequest } from "@patchbay/engine/ports/model-provider";
import { PROVIDER_LIMITS } from "./capabilities.ts";
import { fittingEcho } from "./neutral-request.ts";
import { madeUpCallId, unused } from "./wire-names.ts";

/** One call's id, in the conversation and on the wire. */
interface Renamed {
  from: string;
  to: string;
}

/**
 * The request's messages with call ids that its wire accepts, each once. An id that this wire and model gave is kept;
 * the others become digests, the same in each request: `functions.weather:0` is valid for one server only, and ids
 * with a gateway's signature are too long for others. `isAbsent` names ids that the wire does not send.
 */
export function withWireIds(
  { messages, model }: Pick<ModelRequest, "messages" | "model">,
  wire: string,
  isAbsent: (id: string) => boolean = () => false,
): Message[] {
  const isOwn = (message: Message) => message.role === "assistant" && fittingEcho(message, wire, model) !== undefined;
  const own = new Set(
    messages.flatMap((one) => (one.role === "assistant" && isOwn(one) ? one.calls.map(({ id }) => id) : [])),
  );
  const used = new Set<string>();
  let last: Renamed[] = [];

  function wireId(id: string, keep: boolean): string {
    let to = id;
    if (!keep || id === "" || used.has(id))
      for (let place = 0; to === id || used.has(to) || own.has(to); place++) to = digest(`${id} ${place}`);
    used.add(to);
    return to;
  }

  return messages.map((message): Message => {
    if (message.role === "results") {
      const left = [...last];
      return {
        ...message,
        results: message.results.map((one) => ({ ...one, callId: take(left, one.callId) ?? one.callId })),
      };
    }
    if (message.role !== "assistant") return message;
    const keep = isOwn(message);
    last = message.calls.map(({ id }) => ({ from: id, to: isAbsent(id) ? id : wireId(id, keep) }));
    const calls = message.calls.map((call, i) => ({ ...call, id: last[i]!.to }));
    const { echo } = message;
    if (!echo || last.every(({ from, to }) => from === to)) return { ...message, calls };
    return { ...message, calls, echo: { ...echo, blocks: renamed(echo.blocks, [...last]) } };
  });
}

/** Two calls may have one id: each takes its own place in the list. */
function take(left: Renamed[], id: JsonValue): string | undefined {
  const at = left.findIndex(({ from }) => from === id);
  return at === -1 ? undefined : left.splice(at, 1)[0]!.to;
}

/** Members with a call's id on the four wires, and those with its arguments, which are data. */
const [IDS, ARGUMENTS] = [new Set(["id", "call_id"]), new Set(["input", "args", "arguments"])];

function renamed(blocks: JsonValue, left: Renamed[]): JsonValue {
  if (Array.isArray(blocks)) return blocks.map((block) => renamed(block, left));
  if (!isJsonObject(blocks)) return blocks;
  const members = Object.entries(blocks).map(([name, value]): [string, JsonValue] => {
    if (ARGUMENTS.has(name)) return [name, value];
    return [name, (IDS.has(name) ? take(left, value) : undefined) ?? renamed(value, left)];
  });
  return Object.fromEntries(members);
}

function digest(text: string): string {
  const { callIdChars } = PROVIDER_LIMITS;
  const number = BigInt(`0x${createHash("sha256").update(text).digest("hex")}`);
  return number.toString(36).slice(-callIdChars).padStart(callIdChars, "0");
}

/**
 * Gives each call of one turn an id of its own, because results refer to calls by id. Compatible servers send equal ids
 * and empty ones.
 */
export function distinctIds(calls: readonly { id: string }[]): void {
  const seen = new Set<string>();
  for (const call of calls) {
    call.id = call.id === "" ? madeUpCallId() : unused(call.id, seen);
    seen.add(call.id);
  }
}
