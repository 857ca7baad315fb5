import type { JsonValue } from "@patchbay/protocol";

/** Leaves out the members that are null, as columns hold them, or undefined. */
export function present<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

/** Reads a JSON column; the store alone wrote it, so its shape is known. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

export function toJson(value: JsonValue | object): string {
  return JSON.stringify(value);
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
