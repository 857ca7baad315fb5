import { addAbortListener } from "node:events";

/** What a connection has asked its runtime, by id. */
export class Questions<Answer> {
  readonly #open = new Map<string, (answer: Answer | undefined) => void>();

  has(id: string): boolean {
    return this.#open.has(id);
  }

  /** Undefined when `signal` aborts before the answer, or the connection closes. */
  async ask(id: string, send: () => void, signal: AbortSignal): Promise<Answer | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    using _ = addAbortListener(signal, () => resolve(undefined));
    this.#open.set(id, resolve);
    send();
    try {
      return await promise;
    } finally {
      this.#open.delete(id);
    }
  }

  /** False without such a question. */
  answer(id: string, answer: Answer): boolean {
    this.#open.get(id)?.(answer);
    return this.#open.delete(id);
  }

  close(): void {
    for (const answer of this.#open.values()) answer(undefined);
  }
}
