import type { Fault } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";

/** A schema from a library with Standard Schema v1 (https://standardschema.dev): zod 4, zod mini, arktype, valibot and more. */
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

/** A zod 3 schema, including old releases without Standard Schema. */
export interface Zod3Schema {
  readonly _def: object;
  readonly _input: unknown;
  readonly _output: unknown;
  safeParseAsync(value: unknown): Promise<Zod3Result>;
}

type Zod3Result =
  | { success: true; data: unknown }
  | { success: false; error: { issues: readonly { message: string; path: readonly PropertyKey[] }[] } };

/**
 * A zod 4 or zod mini schema. The members have the same form in every release, so they are read without importing zod:
 * the owner's schema may come from another zod copy than this package would import.
 */
export interface Zod4Schema extends StandardSchema {
  readonly _zod: {
    readonly def: Zod4Definition;
    readonly version: { readonly major: number; readonly minor: number; readonly patch: number };
    readonly constr: new (definition: object) => Zod4Schema;
    /** Defined if the input, or the output, may be absent. */
    readonly optin?: string | undefined;
    readonly optout?: string | undefined;
    /** All values, if the schema lists them. */
    readonly values?: ReadonlySet<unknown>;
    /** The schema that a lazy one returns. */
    readonly innerType?: object;
    /** Written by the owner to replace this part's JSON Schema. */
    toJSONSchema?(): object;
  };
  /** Zod mini schemas do not have this method. */
  meta?(): Record<string, unknown> | undefined;
  clone(definition: object, options: { parent: boolean }): Zod4Schema;
}

export interface Zod4Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly shape?: Readonly<Record<string, object>>;
  readonly catchall?: object;
  readonly element?: object;
  readonly items?: readonly object[];
  readonly rest?: object | null;
  readonly keyType?: object;
  readonly valueType?: object;
  /** True for a record that may lack some keys. */
  readonly partial?: boolean;
  readonly options?: readonly object[];
  readonly discriminator?: string;
  readonly left?: object;
  readonly right?: object;
  readonly innerType?: object;
  readonly in?: object;
  readonly out?: object;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly checks?: readonly Zod4Schema[];
}

/** JSON Schema, draft 2020-12. `format` is a hint for the model and is not validated. */
export interface RawSchema {
  readonly [keyword: string]: unknown;
}

/** A schema for a function's input and output and for a service's context. */
export type Schema = StandardSchema | Zod3Schema | RawSchema;

/** A schema's output type, which handlers receive. */
export type OutputOf<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : S extends { readonly _output: infer Output }
    ? Output
    : JsonObject;

/** A schema's input type, which a handler with an output schema returns. Unknown for raw JSON Schema. */
export type InputOf<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : S extends { readonly _input: infer Input }
    ? Input
    : unknown;

export function isStandardSchema(schema: object): schema is StandardSchema {
  return "~standard" in schema;
}

/** True for zod 4 and zod mini schemas, which have a property `_zod`. */
export function isZod4<S extends object>(schema: S): schema is S & Zod4Schema {
  return "_zod" in schema;
}

/** True for zod 3 schemas, which have a `typeName` in their definition. */
export function isZod3(schema: object): schema is Zod3Schema {
  const definition = (schema as Partial<Zod3Schema>)._def;
  return typeof definition === "object" && "typeName" in definition;
}

/** True for raw JSON Schema. */
export function isRaw(schema: Schema): schema is RawSchema {
  return !isStandardSchema(schema) && !isZod4(schema) && !isZod3(schema);
}

/** True for a value that can be a schema: an object, or a function with one (arktype). */
export function isSchema(value: unknown): value is Schema {
  if (typeof value === "function") return "~standard" in value;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as the schema returns it, or its faults. */
export type Parsed = { ok: true; value: unknown } | { ok: false; faults: Fault[] };

/** Validates and converts a value. May throw an error from the owner's refinement. */
export type Parse = (value: unknown) => Parsed | Promise<Parsed>;

/** A service's context type: its schema's output, or without a schema the object that was sent. */
export type ContextOf<C> = C extends Schema ? OutputOf<C> : JsonObject;

/** The names of an input's members. Any, for raw JSON Schema. */
export type MemberOf<I> = unknown extends InputOf<I> ? string : keyof InputOf<I> & string;
