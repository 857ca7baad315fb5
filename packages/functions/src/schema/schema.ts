import type { JsonObject } from "@patchbay/protocol";

/** A schema of any library that follows Standard Schema v1 (https://standardschema.dev): zod 4, zod mini, arktype, valibot and more. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod 3, old releases without Standard Schema included. */
export interface Zod3Schema {
  readonly _def: object;
  readonly _input: unknown;
  readonly _output: unknown;
  safeParseAsync(value: unknown): Promise<Zod3Result>;
}

type Zod3Result =
  | { success: true; data: unknown }
  | { success: false; error: { issues: readonly { message: string; path: readonly PropertyKey[] }[] } };

/** JSON Schema, draft 2020-12. `format` is a hint to the model and not checked. */
export interface RawSchema {
  readonly [keyword: string]: unknown;
}

/** What describes the input and output of functions and the context of a service. */
export type Schema = StandardSchema | Zod3Schema | RawSchema;

/** The type a schema makes of what it accepts: what handlers are given. */
export type OutputOf<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : S extends { readonly _output: infer Output }
    ? Output
    : JsonObject;

/** The type a schema accepts: what a handler with an output schema returns. A raw JSON Schema accepts anything until it is run. */
export type InputOf<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : S extends { readonly _input: infer Input }
    ? Input
    : unknown;

export function isStandardSchema(schema: Schema): schema is StandardSchema {
  return "~standard" in schema;
}

/** Zod 4 says it is zod by a member of its own; zod 3 by the kind in its definition. */
export function isZod4(schema: Schema): boolean {
  return "_zod" in schema;
}

export function isZod3(schema: Schema): schema is Zod3Schema {
  const definition = (schema as Partial<Zod3Schema>)._def;
  return typeof definition === "object" && "typeName" in definition;
}

/** True for raw JSON Schema. */
export function isRaw(schema: Schema): schema is RawSchema {
  return !isStandardSchema(schema) && !isZod4(schema) && !isZod3(schema);
}

/** True for what can be a schema at all: an object, or a function that carries one (arktype). */
export function isSchema(value: unknown): value is Schema {
  if (typeof value === "function") return "~standard" in value;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
