import { present } from "@patchbay/kit";

/** A JSON object in an OpenAPI document. */
export type Schema = Record<string, unknown>;

/** One operation in a document. */
export interface Operation {
  method: string;
  /** With `:names`, as in the route table. */
  path: string;
  operation: Schema;
}

/** An OpenAPI 3.1 document. `extensions` are members outside the specification (`x-…`). */
export function openApiDocument(options: {
  title: string;
  version: string;
  description?: string;
  serverUrl: string;
  operations: readonly Operation[];
  extensions?: Schema;
  components: Schema;
}): Schema {
  const { title, version, description, serverUrl, operations, extensions, components } = options;
  const paths: Record<string, Schema> = {};
  for (const { method, path, operation } of operations)
    (paths[templateOf(path)] ??= {})[method.toLowerCase()] = operation;
  return {
    openapi: "3.1.0",
    info: { title, version, ...present({ description }), license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: serverUrl }],
    paths,
    ...extensions,
    components,
  };
}

/** Turns `/agents/:agent_id` into `/agents/{agent_id}`. */
export const templateOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

export function pathParameters(path: string, descriptions: Readonly<Record<string, string>> = {}): Schema[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...present({ description: descriptions[name] }),
    schema: { type: "string" },
  }));
}

export const jsonContent = (schema: Schema): Schema => ({ "application/json": { schema } });

export const eventStreamContent = (schema: Schema): Schema => ({ "text/event-stream": { schema } });
