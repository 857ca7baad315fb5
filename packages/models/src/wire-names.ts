import { randomUUID } from "@patchbay/kit/time";
import { oncePer } from "@patchbay/kit";
import { wireName } from "@patchbay/protocol";
import { PROVIDER_LIMITS } from "./capabilities.ts";

/** Maps the function names in one set to names that a wire accepts, and back. */
export const wireNames = oncePer((functions: readonly { name: string }[]) => {
  const there = new Map<string, string>();
  const back = new Map<string, string>();
  // Safe names do not change, whatever the order.
  for (const { name } of functions) if (wireName(name) === name) back.set(name, name);
  for (const { name } of functions) {
    const safe = wireName(name);
    if (safe === name) continue;
    const wire = unused(safe, back);
    there.set(name, wire);
    back.set(wire, name);
  }
  return {
    toWire: (name: string): string => there.get(name) ?? wireName(name),
    /** As `toWire` for a function; any other name as the model wrote it, which its echo repeats. */
    echoed: (name: string): string => there.get(name) ?? name,
    /** True for the wire's name of a function. */
    knows: (name: string): boolean => back.has(name),
    /** The owner's name; returns an unknown name unchanged. */
    fromWire: (name: string): string => back.get(name) ?? name,
  };
});

export type WireNames = ReturnType<typeof wireNames>;

/** The name, or the name with the first number that makes it unused. */
export function unused(name: string, taken: { has(name: string): boolean }): string {
  let candidate = name;
  for (let n = 2; taken.has(candidate); n++) {
    const suffix = `_${n}`;
    candidate = name.slice(0, PROVIDER_LIMITS.nameChars - suffix.length) + suffix;
  }
  return candidate;
}

const PREFIX = "patchbay_";

/** An id for a call that arrived without one, valid on each wire: Chat Completions takes 40 characters. */
export function madeUpCallId(): string {
  return PREFIX + randomUUID().replaceAll("-", "").slice(0, 24);
}

/** True for an id that the provider has never seen. */
export function isMadeUpCallId(id: string): boolean {
  return id.startsWith(PREFIX);
}
