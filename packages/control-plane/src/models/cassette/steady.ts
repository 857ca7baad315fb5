import type { ModelFunction } from "../../ports/model-provider.ts";
import { createWithholder } from "./withhold.ts";

/** Puts steady words in place of what changes from run to run; the same thing gets the same word throughout one request. */
export interface Steadier {
  text(text: string): string;
  /** A result of the function, without what is for some roles alone; later texts are without it too. */
  result(name: string, content: string): string;
  /** The word for a call that the model makes here. Models may use an id again in a later turn: each use is a call of its own. */
  newCallId(id: string): string;
  /** The word for the newest call with this id. */
  callId(id: string): string;
}

/** Ids that Patchbay makes. */
const OWN_IDS = /\b(run|thr|call)_[0-9a-f]{32}\b/g;

/** What a failed call says of the line in the owner's log that explains it. */
const REFERENCES = /\bReference: [0-9a-f]{12}\b/g;

/** Patchbay's own secrets, those of the providers, and whatever follows the word Bearer. */
const SECRETS =
  /\b(?:service_live_|patchbay_(?:rt|at)_)[0-9A-Za-z]{36}\b|\bsk-[0-9A-Za-z_-]{16,}|\bAIza[0-9A-Za-z_-]{35}|\bBearer [0-9A-Za-z._~+/=-]{16,}/g;

export function createSteadier(functions: readonly ModelFunction[]): Steadier {
  const withholder = createWithholder(functions);
  const words = new Map<string, string>();
  const counts = new Map<string, number>();
  const callWords = new Map<string, string>();

  function next(kind: string): string {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `${kind}_${count}`;
  }

  function wordFor(id: string, kind: string): string {
    let word = words.get(id);
    if (word === undefined) words.set(id, (word = next(kind)));
    return word;
  }

  const text = (said: string): string =>
    withholder
      .text(said)
      .replaceAll(SECRETS, "[secret]")
      .replaceAll(REFERENCES, "Reference: [reference]")
      .replaceAll(OWN_IDS, (id, kind: string) => wordFor(id, kind));

  return {
    text,
    result: (name, content) => text(withholder.result(name, content)),
    newCallId(id) {
      const word = next("turn_call");
      callWords.set(id, word);
      return word;
    },
    callId: (id) => callWords.get(id) ?? "turn_call_unknown",
  };
}
