import { join } from "node:path";
import type { ModelProvider, ModelRequest, ModelTurn } from "../../ports/model-provider.ts";
import { recordedAnswer, recordedRequest } from "./request.ts";
import { addTurn, emptyTape, writeTape, type Tape } from "./tape.ts";

/**
 * Keeps every finished turn of the providers it is put around, without secrets and ids. A path that ends in `.json` is one file;
 * any other is a folder, in which each conversation has a file named after its first query. A file that was there is replaced.
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
        // Before the turn is given on: whoever has the answer finds it recorded.
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
