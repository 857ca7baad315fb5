/** A JSON object of an OpenAPI document. */
export type Schema = Record<string, unknown>;

/** One operation of a document. */
export interface Operation {
  method: string;
  /** With `:names`, as in the route table. */
  path: string;
  operation: Schema;
}

/** An OpenAPI 3.1 document. `extensions` are the members that the specification does not define (`x-…`). */
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
    info: {
      title,
      version,
      ...(description !== undefined && { description }),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: serverUrl }],
    paths,
    ...extensions,
    components,
  };
}

/** `/agents/{agent_id}` of `/agents/:agent_id`. */
export const templateOf = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

export function pathParameters(path: string, descriptions: Readonly<Record<string, string>> = {}): Schema[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(descriptions[name] !== undefined && { description: descriptions[name] }),
    schema: { type: "string" },
  }));
}

export const jsonContent = (schema: Schema): Schema => ({ "application/json": { schema } });

export const eventStreamContent = (schema: Schema): Schema => ({ "text/event-stream": { schema } });
