import { join } from "node:path";
import {
  type ModelCall,
  ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
  type ModelTurn,
} from "@patchbay/engine/ports/model-provider";
import {
  keyOf,
  recordedAnswer,
  type RecordedAnswer,
  type RecordedCall,
  recordedRequest,
  type RecordedRequest,
} from "./request.ts";
import { addTurn, emptyTape, readRecordings, type Recording, type Tape, writeTape } from "./tape.ts";
import { type Difference, differences, nearestTo } from "./difference.ts";

/**
 * Records every finished turn from the wrapped providers, without secrets and ids. A path with the extension `.json` is
 * one file; any other is a folder, in which each conversation has a file named after its first query. An existing file
 * is replaced.
 */
export function recordTo(path: string): (provider: ModelProvider) => ModelProvider {
  const shelf = path.endsWith(".json") ? oneFile(path) : filePerConversation(path);

  function keep(request: ModelRequest, turn: ModelTurn): void {
    const { file, tape } = shelf(request);
    addTurn(tape, recordedRequest(request), recordedAnswer(request, turn));
    writeTape(file, tape);
  }

  return (provider) => ({
    name: provider.name,
    async *stream(request, options) {
      for await (const event of provider.stream(request, options)) {
        // Written before the turn is yielded, so that the recording is complete when a client has the answer.
        if (event.type === "end") keep(request, event.turn);
        yield event;
      }
    },
  });
}

type Shelf = (request: ModelRequest) => { file: string; tape: Tape };

function oneFile(file: string): Shelf {
  const tape = emptyTape();
  return () => ({ file, tape });
}

function filePerConversation(folder: string): Shelf {
  const byThread = new Map<string, { file: string; tape: Tape }>();
  const taken = new Set<string>();
  return (request) => {
    let kept = byThread.get(request.threadId);
    if (!kept) {
      const file = join(folder, `${freeName(slugOf(request), taken)}.json`);
      byThread.set(request.threadId, (kept = { file, tape: emptyTape() }));
    }
    return kept;
  };
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let n = 2; taken.has(name); n++) name = `${wanted}-${n}`;
  taken.add(name);
  return name;
}

const SLUG_LENGTH = 60;

function slugOf({ messages }: ModelRequest): string {
  const first = messages.find((message) => message.role === "user");
  const words = first?.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.join("-").slice(0, SLUG_LENGTH).replace(/-+$/, "") || "query";
}

/** No recording has the request. The message names the changes; `details` shows the difference, with message text. */
export class RecordingMiss extends ModelError {
  readonly details: readonly string[];

  constructor(path: string, nearest: Recording, changes: readonly Difference[]) {
    const what = changes.map(({ what }) => what).join("; ");
    super(
      "bad_request",
      `No answer is recorded in ${path} for this request. It differs from the nearest one (${nearest.file}, turn ${nearest.number}): ${what}. Record it again if the change is intended.`,
    );
    this.details = changes.map(({ what, how }) => (how === undefined ? what : `${what}: ${how}`));
  }
}

/**
 * A model that answers from `recordTo` recordings, in a file or a folder, which it reads immediately. A request
 * recorded several times gets its answers in that order, then the last one again. Any other request fails with
 * `RecordingMiss`.
 */
export function replayFrom(path: string): ModelProvider {
  const recordings = readRecordings(path);
  const answers = new Map<string, RecordedAnswer[]>();
  for (const { key, answer } of recordings) answers.set(key, [...(answers.get(key) ?? []), answer]);

  function answerTo(request: RecordedRequest): RecordedAnswer {
    const known = answers.get(keyOf(request));
    if (!known) {
      const nearest = nearestTo(request, recordings);
      throw new RecordingMiss(path, nearest, differences(nearest.request, request));
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
