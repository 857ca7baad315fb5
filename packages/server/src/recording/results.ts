import { canonicalJson } from "@patchbay/kit";
import type { ModelResult } from "@patchbay/engine/ports/model-provider";
import type { RecordedCall, RecordedMessage } from "./request.ts";
import { readRecordings } from "./tape.ts";

/** A call's recorded result, as the model read it. */
export type RecordedResult = Pick<ModelResult, "content" | "isError">;

/**
 * A recording's results, by function and arguments. A repeated call returns its results in the recorded order, then the
 * last one; a call that was not recorded returns undefined.
 */
export function recordedResults(path: string): (name: string, input: unknown) => RecordedResult | undefined {
  const results = new Map<string, RecordedResult[]>();
  for (const messages of wholeConversations(path)) {
    let asked: RecordedCall[] = [];
    for (const message of messages) {
      if (message.role === "assistant") asked = message.calls;
      if (message.role !== "results") continue;
      for (const [i, { name, content, isError }] of message.results.entries()) {
        const key = keyOf(name, asked[i]?.arguments);
        results.set(key, [...(results.get(key) ?? []), { content, isError }]);
      }
    }
  }
  return (name, input) => {
    const known = results.get(keyOf(name, input)) ?? [];
    return known.length > 1 ? known.shift() : known[0];
  };
}

const keyOf = (name: string, input: unknown): string => `${name} ${canonicalJson(input ?? "")}`;

/** A turn's request repeats earlier turns: only requests that no other one extends contain every call once. */
function wholeConversations(path: string): RecordedMessage[][] {
  const all = readRecordings(path).map(({ request }) => request.messages);
  const texts = all.map((messages) => messages.map((message) => JSON.stringify(message)));
  const goesOn = (i: number) =>
    texts.some(
      (other, j) => i !== j && other.length > texts[i]!.length && texts[i]!.every((text, k) => other[k] === text),
    );
  return all.filter((_, i) => !goesOn(i));
}
