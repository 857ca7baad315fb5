import type { ConsoleRouteName, ConsoleRoutes } from "@patchbay/protocol/console";
import type { z } from "zod";
import { PREFIX } from "../state/prefix.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A method's paths. */
export type PathOf<M extends Method> = ConsoleRouteName extends infer Name
  ? Name extends `${M} ${infer Path}`
    ? Path
    : never
  : never;

type NameOf<M extends Method, Path extends string> = `${M} ${Path}` & ConsoleRouteName;

type ParamNames<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? ParamNames<Part> | ParamNames<Rest>
  : Path extends `:${infer Name}`
    ? Camel<Name>
    : never;

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Rest>}` : Name;

/** The ids in a path, by their names in the page routes. */
export type ParamsOf<Path extends string> = Record<ParamNames<Path>, string>;

export type QueryOf<M extends Method, Path extends string> = ConsoleRoutes[NameOf<M, Path>] extends {
  query: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : undefined;

export type BodyOf<M extends Method, Path extends string> = ConsoleRoutes[NameOf<M, Path>] extends {
  body: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : undefined;

export type AnswerOf<M extends Method, Path extends string> = ConsoleRoutes[NameOf<
  M,
  Path
>]["answer"] extends infer Schema extends z.ZodType
  ? z.output<Schema>
  : undefined;

/** List paths: their response has items and a cursor. */
export type ListPath = {
  [Path in PathOf<"GET">]: AnswerOf<"GET", Path> extends { items: unknown[]; nextCursor: string | null } ? Path : never;
}[PathOf<"GET">];

/** One list item. */
export type ItemOf<Path extends ListPath> = AnswerOf<"GET", Path> extends { items: (infer Item)[] } ? Item : never;

type Given<Key extends string, Value> = [Value] extends [undefined]
  ? { [K in Key]?: undefined }
  : object extends Value
    ? { [K in Key]?: Value | undefined }
    : { [K in Key]: Value };

/** Request options: `params`, `query` and `body` if its route has them. */
export type RequestOf<M extends Method, Path extends string> = ([ParamNames<Path>] extends [never]
  ? { params?: undefined }
  : { params: ParamsOf<Path> }) &
  Given<"query", QueryOf<M, Path>> &
  Given<"body", BodyOf<M, Path>> & { signal?: AbortSignal | undefined };

/** A request's path and query string, without origin. */
export function urlOf(
  path: string,
  params: Record<string, string> = {},
  query: Record<string, string | number | undefined> = {},
): string {
  const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[camel(name)] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return `${PREFIX}/api${filled}${text && `?${text}`}`;
}
