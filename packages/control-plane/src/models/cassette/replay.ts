import { ModelError, type ModelCall, type ModelEvent, type ModelProvider } from "../../ports/model-provider.ts";
import { differences, nearestTo, type Difference } from "./difference.ts";
import { keyOf, recordedRequest, type RecordedAnswer, type RecordedCall, type RecordedRequest } from "./request.ts";
import { readRecordings, type Recording } from "./tape.ts";

/** A request that no recording holds. The message names what changed; `details` shows how, with words of the conversation. */
export class CassetteMiss extends ModelError {
  readonly details: readonly string[];

  constructor(path: string, nearest: Recording, changes: readonly Difference[]) {
    const what = changes.map(({ what }) => what).join("; ");
    super(
      "bad_request",
      `No answer is recorded in ${path} for this request. It differs from the nearest one (${nearest.file}, turn ${nearest.place}): ${what}. Record anew if the change is meant.`,
    );
    this.details = changes.map(({ what, how }) => (how === undefined ? what : `${what}: ${how}`));
  }
}

/**
 * A model that answers from what `recordTo` kept in a file or a folder, which is read at once. The same request recorded several
 * times is answered in that order, then with the last answer. Any other request fails with `CassetteMiss`.
 */
export function replayFrom(path: string): ModelProvider {
  const recordings = readRecordings(path);
  const answers = new Map<string, RecordedAnswer[]>();
  for (const { key, answer } of recordings) answers.set(key, [...(answers.get(key) ?? []), answer]);

  function answerTo(request: RecordedRequest): RecordedAnswer {
    const known = answers.get(keyOf(request));
    if (!known) {
      const nearest = nearestTo(request, recordings);
      throw new CassetteMiss(path, nearest, differences(nearest.request, request));
    }
    return known.length > 1 ? known.shift()! : known[0]!;
  }

  return {
    name: "replay",
    async *stream(request, { signal }) {
      signal.throwIfAborted();
      yield* speak(answerTo(recordedRequest(request)));
    },
  };
}

function* speak(answer: RecordedAnswer): Generator<ModelEvent> {
  for (const thought of answer.thoughts) yield { type: "thoughtDelta", text: thought };
  if (answer.text !== "") yield { type: "textDelta", text: answer.text };
  yield { type: "end", turn: { ...answer, calls: answer.calls.map(modelCall) } };
}

function modelCall({ id, name, arguments: given }: RecordedCall): ModelCall {
  return { id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
}
