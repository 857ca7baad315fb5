import { AsyncLocalStorage } from "node:async_hooks";

/** The same items, but each is worked out in the async context in which this was called, wherever it is asked for. */
export function stepwise<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const inContext = AsyncLocalStorage.snapshot();
  return {
    next: () => inContext(() => items.next()),
    return: (value) => inContext(() => items.return(value)),
    throw: (error) => inContext(() => items.throw(error)),
    async [Symbol.asyncDispose]() {
      await items.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
