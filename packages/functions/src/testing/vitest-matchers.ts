/// <reference types="vitest" />
import type { accessMatchers } from "./matchers.ts";

type Given<Name extends keyof typeof accessMatchers> =
  Parameters<(typeof accessMatchers)[Name]> extends [unknown, ...infer Rest] ? Rest : never;

/** How the matchers are called on what `expect` returns; `R` is what a matcher that waits for nothing gives back. */
export interface AccessAssertions<R = void> {
  toAllow(...given: Given<"toAllow">): Promise<void>;
  toDeny(...given: Given<"toDeny">): Promise<void>;
  toLeakNothing(...given: Given<"toLeakNothing">): R;
}

// Types alone, so that nobody needs vitest for the kit. The type parameters must be those of vitest's own declaration.
declare module "vitest" {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends AccessAssertions<R> {}
}
