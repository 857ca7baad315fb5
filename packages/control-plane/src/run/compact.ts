import type { HistoryEntry } from "../ports/run-store.ts";
import type { Message } from "../ports/model-provider.ts";

export interface Fitted {
  messages: Message[];
  /** How many whole units (earlier runs, then turns of this run) were left out. */
  dropped: number;
}

/**
 * Fits a conversation into `budget` characters by leaving out whole units, oldest first: earlier runs, then turns of the run
 * itself together with their results. The run's own first message (its query) and its newest turn always stay.
 */
export function fit(history: readonly HistoryEntry[], own: readonly Message[], budget: number): Fitted {
  const turns = turnsOf(own.slice(1));
  const units: Message[][] = [...history.map((entry) => entry.messages), ...turns];
  const sizes = units.map(sizeOf);
  const droppable = turns.length === 0 ? units.length : units.length - 1;
  let total = sizeOf(own.slice(0, 1)) + sizes.reduce((sum, size) => sum + size, 0);
  let dropped = 0;
  while (total > budget && dropped < droppable) total -= sizes[dropped++]!;

  const past = units.slice(dropped, Math.max(dropped, history.length)).flat();
  const present = units.slice(Math.max(dropped, history.length)).flat();
  return { messages: [...past, ...own.slice(0, 1), ...present], dropped };
}

/** Splits a run's messages into turns that can be left out as one: an assistant message with all that answers it. */
function turnsOf(messages: readonly Message[]): Message[][] {
  const turns: Message[][] = [];
  for (const message of messages) {
    if (message.role === "assistant" || turns.length === 0) turns.push([message]);
    else turns.at(-1)!.push(message);
  }
  return turns;
}

export function sizeOf(messages: readonly Message[]): number {
  let size = 0;
  for (const message of messages) {
    if (message.role === "user") size += message.text.length + (message.preface?.length ?? 0);
    else if (message.role === "assistant")
      size +=
        message.text.length + message.calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
    else size += message.results.reduce((sum, result) => sum + result.content.length, 0);
  }
  return size;
}

/** Without echoes: opaque blocks hold only while everything before them is unchanged. */
export function withoutEcho(messages: readonly Message[]): Message[] {
  return messages.map((message) => {
    if (message.role !== "assistant" || !message.echo) return message;
    const { echo: _, ...rest } = message;
    return rest;
  });
}
