import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { useHasRole } from "../../api/api.ts";
import { Icon } from "../../ui/icon.tsx";
import { BLANK, type Example, type PlaygroundState } from "./use-playground.ts";

/** Shown before the first query, with example queries. */
export function EmptyPlayground({ playground }: { playground: PlaygroundState }) {
  const { functions, settings, pickExample } = playground;
  const maySend = useHasRole("developer");
  const examples = functions.data && maySend ? examplesOf(functions.data, settings.role) : [];
  return (
    <div className="mx-auto grid w-full max-w-2xl gap-4 py-8 sm:py-14">
      <div className="text-center">
        <p className="text-lg font-semibold">Send a query</p>
        <p className="text-muted mt-1 text-pretty">
          Queries call your real functions, with the same checks as the API.
        </p>
      </div>
      {examples.length > 0 && (
        <ul aria-label="Example queries" className="grid gap-2 sm:grid-cols-2">
          {examples.map((example, index) => (
            <li key={index} className="min-w-0">
              <button
                type="button"
                onClick={() => pickExample(example)}
                className="border-line bg-surface hover:border-edge shadow-card flex h-full w-full items-center justify-between gap-3 rounded-lg border px-3 py-2.5 text-left text-sm transition-colors"
              >
                <span className="min-w-0">
                  {example.query}
                  {example.settings.role && (
                    <span className="text-muted block text-xs">as {example.settings.role}</span>
                  )}
                </span>
                <Icon name="right" className="text-faint size-3.5" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const MAX_EXAMPLES = 4;
const MAX_OWN_EXAMPLES = 6;

/** The service's example queries; without any, generated ones for the selected role. */
export function examplesOf({ exampleQueries: own, functions, defaultRole }: FunctionSet, role: string): Example[] {
  if (own.length === 0)
    return exampleQueries(functions, role || (defaultRole ?? "")).map((query) => ({ query, settings: {} }));
  return own.slice(0, MAX_OWN_EXAMPLES).map(({ query, role = "", context }) => ({
    query,
    settings: { role, context: context === undefined ? "" : JSON.stringify(context, null, 2) },
  }));
}

/**
 * Example queries from the functions that a role may call: only reading ones if there are any, sorted by their blanks.
 * Functions restricted to some roles go before those for everyone, because they say more about the agent's purpose.
 */
export function exampleQueries(functions: readonly ConsoleFunction[], role: string): string[] {
  const open = functions.filter(({ roles }) => roles === "everyone" || roles.includes(role));
  const readers = open.filter(({ effect }) => effect === "read");
  return (readers.length > 0 ? readers : open)
    .map((fn) => ({
      text: queryOf(fn),
      blanks: required(fn).filter((name) => sampleOf(fn, name) === undefined).length,
      forEveryone: fn.roles === "everyone" ? 1 : 0,
    }))
    .toSorted((a, b) => a.blanks - b.blanks || a.forEveryone - b.forEveryone)
    .slice(0, MAX_EXAMPLES)
    .map(({ text }) => text);
}

/** For example "Get order details, order id: …". */
function queryOf(fn: ConsoleFunction): string {
  const words = fn.name
    .replaceAll(/[_.-]+/g, " ")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .trim();
  const parameters = required(fn).map((name) => `${name.replaceAll("_", " ")}: ${sampleOf(fn, name) ?? BLANK}`);
  return [words.charAt(0).toUpperCase() + words.slice(1), ...parameters].join(", ");
}

function required({ inputSchema }: ConsoleFunction): string[] {
  const names = inputSchema["required"];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** A value from the schema: an example, the default or an enum member. */
function sampleOf({ inputSchema }: ConsoleFunction, name: string): string | undefined {
  const property: unknown = (inputSchema["properties"] as Record<string, unknown> | undefined)?.[name];
  if (typeof property !== "object" || property === null) return undefined;
  const { examples, enum: choices, default: preset } = property as Record<string, unknown>;
  const [offered] = [...listOf(examples), preset, ...listOf(choices)].filter((value) => value !== undefined);
  return typeof offered === "string" || typeof offered === "number" ? String(offered) : undefined;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
