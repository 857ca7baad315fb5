import { useSyncExternalStore } from "react";

/** A value outside React that components subscribe to, for the API client and key handlers. */
export interface Signal<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function createSignal<T>(value: T): Signal<T> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useSignal<T>(signal: Signal<T>): T {
  return useSyncExternalStore(signal.subscribe, signal.get);
}

/** A preference stored in this browser, one of `values`; the first is the default. It lasts until reload if storage is forbidden or full. */
export function storedChoice<T extends string>(name: string, values: readonly [T, ...T[]]): Signal<T> {
  const signal = createSignal<T>(values.find((value) => value === readStored(name)) ?? values[0]);
  signal.subscribe(() => writeStored(name, signal.get()));
  return signal;
}

/** As `storedChoice`, for any number of `values`; `chosen` are the default. */
export function storedChoices<T extends string>(
  name: string,
  values: readonly T[],
  chosen: readonly T[],
): Signal<readonly T[]> {
  const stored = readStored(name)?.split(" ");
  const signal = createSignal<readonly T[]>(stored ? values.filter((value) => stored.includes(value)) : chosen);
  signal.subscribe(() => writeStored(name, signal.get().join(" ")));
  return signal;
}

/** As `storedChoice`, for a number from `min` to `max`. */
export function storedNumber(
  name: string,
  { preset, min, max }: { preset: number; min: number; max: number },
): Signal<number> {
  const stored = Number(readStored(name) ?? Number.NaN);
  const signal = createSignal(stored >= min && stored <= max ? stored : preset);
  signal.subscribe(() => writeStored(name, String(signal.get())));
  return signal;
}

/** A JSON value that lasts as long as the browser's tab, or until reload if storage is forbidden. */
export function tabState<T>(name: string): Signal<T | undefined> {
  const key = `patchbay.${name}`;
  const stored = attempt(() => sessionStorage.getItem(key)) ?? undefined;
  const signal = createSignal(
    stored === undefined ? undefined : attempt(() => (JSON.parse(stored) ?? undefined) as T | undefined),
  );
  signal.subscribe(() => attempt(() => sessionStorage.setItem(key, JSON.stringify(signal.get() ?? null))));
  return signal;
}

function attempt<T>(task: () => T): T | undefined {
  try {
    return task();
  } catch {
    return undefined;
  }
}

function readStored(name: string): string | undefined {
  try {
    return localStorage.getItem(`patchbay.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

function writeStored(name: string, value: string): void {
  try {
    localStorage.setItem(`patchbay.${name}`, value);
  } catch {
    // See storedChoice.
  }
}

/** The id of the agent that was shown last. */
export const lastAgentId = tabState<string>("agent");

/** Whether times are shown in the browser's time zone or in UTC. */
export const zone = storedChoice("zone", ["local", "utc"]);

/** `public/theme.js` reads the same stored value before the first paint. */
export const theme = storedChoice("theme", ["system", "light", "dark"]);

/** Applies the theme now and whenever the preference or the system's theme changes. */
export function applyTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const choice = theme.get();
    document.documentElement.dataset["theme"] = choice === "system" ? (system.matches ? "dark" : "light") : choice;
  };
  theme.subscribe(apply);
  system.addEventListener("change", apply);
  apply();
}
