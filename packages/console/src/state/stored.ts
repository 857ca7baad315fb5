import { createSignal, type Signal } from "./signal.ts";

/** A choice kept in this browser, one of `words`; the first is the default. Storage that is forbidden or full loses it with the page. */
export function storedChoice<T extends string>(name: string, words: readonly [T, ...T[]]): Signal<T> {
  const signal = createSignal<T>(words.find((word) => word === read(name)) ?? words[0]);
  signal.subscribe(() => keep(name, signal.get()));
  return signal;
}

export function read(name: string): string | undefined {
  try {
    return localStorage.getItem(`patchbay.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`patchbay.${name}`, value);
  } catch {
    // See storedChoice.
  }
}
