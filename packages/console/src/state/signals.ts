import type { RangeSearch } from "../format/time-range.ts";
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
  return useSyncExternalStore(signal.subscribe, signal.get, signal.get);
}

/** A preference stored in this browser. It lasts until reload if storage is forbidden or full. */
function stored<T>(
  name: string,
  preset: T,
  read: (text: string) => T | undefined,
  write: (value: T) => string,
  storage = () => localStorage,
): Signal<T> {
  const key = `patchbay.${name}`;
  const text = attempt(() => storage().getItem(key)) ?? undefined;
  const signal = createSignal(text === undefined ? preset : (read(text) ?? preset));
  signal.subscribe(() => attempt(() => storage().setItem(key, write(signal.get()))));
  return signal;
}

/** A stored preference, one of `values`; the first is the default. */
export const storedChoice = <T extends string>(name: string, values: readonly [T, ...T[]]): Signal<T> =>
  stored<T>(name, values[0], (text) => values.find((value) => value === text), String);

/** As `storedChoice`, for any number of `values`; `chosen` are the default. */
export const storedChoices = <T extends string>(name: string, values: readonly T[], chosen: readonly T[]) =>
  stored<readonly T[]>(
    name,
    chosen,
    (text) => values.filter((value) => text.split(" ").includes(value)),
    (choices) => choices.join(" "),
  );

interface NumberOptions {
  preset: number;
  min: number;
  max: number;
}

/** As `storedChoice`, for a number from `min` to `max`. */
export const storedNumber = (name: string, { preset, min, max }: NumberOptions): Signal<number> =>
  stored(name, preset, (text) => (Number(text) >= min && Number(text) <= max ? Number(text) : undefined), String);

/** A JSON value that lasts as long as the browser's tab, or until reload if storage is forbidden. */
export function tabState<T>(name: string): Signal<T | undefined> {
  const read = (text: string) => attempt(() => (JSON.parse(text) ?? undefined) as T | undefined);
  return stored(
    name,
    undefined,
    read,
    (value) => JSON.stringify(value ?? null),
    () => sessionStorage,
  );
}

function attempt<T>(task: () => T): T | undefined {
  try {
    return task();
  } catch {
    return undefined;
  }
}

/** The last shown agent's id. */
export const lastAgentId = tabState<string>("agent");

/** The time range that the member chose last on any page. */
export const chosenRange = tabState<RangeSearch>("range");

/** Whether times are shown in the browser's time zone or in UTC. */
export const zone = storedChoice("zone", ["local", "utc"]);
export const ZONES = [
  { value: "local", label: "Local" },
  { value: "utc", label: "UTC" },
] as const;

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
