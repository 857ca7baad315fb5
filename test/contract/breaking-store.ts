import type { Store } from "@patchbay/control-plane";

/** Lets methods of a running service's real store throw `error` until disposed. */
export function breakStore<Part extends "runs" | "accounts" | "threads">(
  store: Store,
  part: Part,
  methods: readonly (keyof Store[Part])[],
  error: Error,
): Disposable {
  const whole = { ...store[part] };
  for (const method of methods) Object.assign(store[part], { [method]: () => Promise.reject(error) });
  return { [Symbol.dispose]: () => void Object.assign(store[part], whole) };
}
