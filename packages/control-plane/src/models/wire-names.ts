import { randomUUID } from "node:crypto";
import { oncePer } from "@patchbay/protocol";

/** Function names as a wire takes them, and back. */
export interface WireNames {
  toWire(name: string): string;
  /** As `toWire` for a function; any other name as the model wrote it, which is how its echo has it. */
  echoed(name: string): string;
  /** The owner's name; an unknown name comes back unchanged. */
  fromWire(name: string): string;
}

const MAX_LENGTH = 64;
/** What all providers take: Gemini wants a letter or underscore first, Anthropic and OpenAI know no dots. */
const SAFE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** The names of one function set. */
export const wireNames = oncePer((functions: readonly { name: string }[]): WireNames => {
  const there = new Map<string, string>();
  const back = new Map<string, string>();
  // Names that are safe as they are keep themselves, whatever the order.
  for (const { name } of functions) if (SAFE.test(name)) back.set(name, name);
  for (const { name } of functions) {
    if (SAFE.test(name)) continue;
    const wire = unused(safeName(name), back);
    there.set(name, wire);
    back.set(wire, name);
  }
  return {
    toWire: (name) => there.get(name) ?? (SAFE.test(name) ? name : safeName(name)),
    echoed: (name) => there.get(name) ?? name,
    fromWire: (name) => back.get(name) ?? name,
  };
});

function safeName(name: string): string {
  const cleaned = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const begun = /^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`;
  return begun.slice(0, MAX_LENGTH);
}

function unused(name: string, taken: ReadonlyMap<string, string>): string {
  let candidate = name;
  for (let n = 2; taken.has(candidate); n++) {
    const suffix = `_${n}`;
    candidate = name.slice(0, MAX_LENGTH - suffix.length) + suffix;
  }
  return candidate;
}

const PREFIX = "patchbay_";

/** An id for a call that its wire gave none. */
export function madeUpCallId(): string {
  return PREFIX + randomUUID();
}

/** True for an id that the provider has never seen. */
export function isMadeUpCallId(id: string): boolean {
  return id.startsWith(PREFIX);
}
