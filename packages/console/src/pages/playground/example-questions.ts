import type { ConsoleFunction } from "@patchbay/protocol/console";

/** Stands where the person fills something in. */
export const BLANK = "…";

const AT_MOST = 4;

/**
 * Questions to begin with, made of the functions that a role may call: those that only read first, and of them those that ask
 * for the least. Functions of some roles alone tell more of the agent than those that are open to everyone.
 */
export function exampleQuestions(functions: readonly ConsoleFunction[], role: string): string[] {
  const open = functions.filter(({ roles }) => roles === "everyone" || roles.includes(role));
  const readers = open.filter(({ effect }) => effect === "read");
  return (readers.length > 0 ? readers : open)
    .map((one) => ({
      text: questionOf(one),
      blanks: required(one).filter((name) => sampleOf(one, name) === undefined).length,
      everyones: one.roles === "everyone" ? 1 : 0,
    }))
    .toSorted((a, b) => a.blanks - b.blanks || a.everyones - b.everyones)
    .slice(0, AT_MOST)
    .map(({ text }) => text);
}

/** "Get order details, order id: …" */
function questionOf(one: ConsoleFunction): string {
  const words = one.name
    .replaceAll(/[_.-]+/g, " ")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .trim();
  const given = required(one).map((name) => `${name.replaceAll("_", " ")}: ${sampleOf(one, name) ?? BLANK}`);
  return [words.charAt(0).toUpperCase() + words.slice(1), ...given].join(", ");
}

function required({ inputSchema }: ConsoleFunction): string[] {
  const names = inputSchema["required"];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** A value that the schema itself offers. */
function sampleOf({ inputSchema }: ConsoleFunction, name: string): string | undefined {
  const property: unknown = (inputSchema["properties"] as Record<string, unknown> | undefined)?.[name];
  if (typeof property !== "object" || property === null) return undefined;
  const { examples, enum: choices, default: preset } = property as Record<string, unknown>;
  const [offered] = [...listOf(examples), preset, ...listOf(choices)].filter((value) => value !== undefined);
  return typeof offered === "string" || typeof offered === "number" ? String(offered) : undefined;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
