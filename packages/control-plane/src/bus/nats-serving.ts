import type { JsonValue } from "@patchbay/protocol";
import type { Msg } from "@nats-io/transport-node";
import type { Log } from "../ports/log.ts";
import { encodeReply, type Reply } from "./nats-wire.ts";

/** Answers requests that come from other replicas. */
export interface Serving {
  /** Answers one request, by `answer` unless it is undefined: then whoever asks is told that nobody took it. */
  respond(message: Msg, body: JsonValue, answer: ((body: JsonValue) => Promise<JsonValue>) | undefined): void;
  /** Resolves when no answer is under way. */
  idle(): Promise<void>;
}

export function createServing({ log, maxPayload }: { log: Log; maxPayload: () => number | undefined }): Serving {
  const underWay = new Set<Promise<void>>();

  async function outcome(subject: string, answering: () => Promise<JsonValue>): Promise<Reply> {
    try {
      return { answer: await answering() };
    } catch (error) {
      log.warn("bus request failed", { subject, err: error });
      return { failed: true };
    }
  }

  function reply(message: Msg, content: Reply): void {
    try {
      message.respond(encodeReply(content, maxPayload()));
    } catch {
      // The connection that the request came by is gone, and who asked knows its request lost.
    }
  }

  return {
    respond(message, body, answer) {
      if (!answer) return reply(message, { declined: true });
      const answered = outcome(message.subject, async () => answer(body)).then((content) => reply(message, content));
      underWay.add(answered);
      void answered.finally(() => underWay.delete(answered));
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
