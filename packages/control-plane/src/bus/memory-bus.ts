import type { JsonValue } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";

/** The bus of a single process: bodies are handed over as they are, in the order they were published. */
export function createMemoryBus(): Bus {
  const subjects = new Map<string, Set<(body: JsonValue) => void>>();
  return {
    healthy: true,
    publish(subject, body) {
      const receivers = subjects.get(subject);
      if (!receivers) return;
      for (const receive of receivers) receive(body);
    },
    subscribe(subject, receive) {
      const receivers = subjects.get(subject) ?? new Set();
      subjects.set(subject, receivers.add(receive));
      return {
        [Symbol.dispose]() {
          receivers.delete(receive);
          if (receivers.size === 0 && subjects.get(subject) === receivers) subjects.delete(subject);
        },
      };
    },
    async close() {
      subjects.clear();
    },
  };
}
