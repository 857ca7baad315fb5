/** Leaves out the members that are null, as columns hold them, or undefined. */
export function present<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

/** A text column that holds the JSON of a `T`, which the store alone wrote. */
export type Json<T> = string & { readonly holds?: T };

export function toJson<T>(value: T): Json<T> {
  return JSON.stringify(value);
}

export function fromJson<T>(text: Json<T>): T {
  return JSON.parse(text) as T;
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
