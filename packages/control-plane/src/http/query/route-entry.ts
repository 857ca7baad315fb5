import type { Schema } from "../kernel/openapi.ts";
import type { SchemaName } from "./openapi-schemas.ts";

/**
 * Secret that a route requires: an API key of the agent in the path, on a `door` also as a bearer token; an access token; a runtime
 * key; or none (`open`).
 */
export type Access = "api" | "door" | "access" | "runtime" | "open";

/** A route with what the OpenAPI document says of it. */
export interface RouteEntry {
  id: string;
  method: "GET" | "POST" | "DELETE";
  path: string;
  access: Access;
  summary: string;
  /** True for routes that answer with server-sent events. */
  streams?: true;
  /** True for what machines request every few seconds: its requests are logged at level debug. */
  probe?: true;
  /** True for routes that are served in development only. */
  local?: true;
  body?: SchemaName;
  /** The success answers by status: what each holds, and its schema where it has a body. */
  answers: Readonly<Record<string, Answer>>;
  /** Statuses of failures. */
  failures: readonly string[];
  /** The body of failures. Default: `ErrorBody`. */
  failure?: SchemaName;
  parameters?: readonly Schema[];
}

/** A success answer: JSON, another media type, or each `data:` line of a stream. */
export interface Answer {
  description: string;
  json?: Schema;
  mediaType?: string;
  stream?: Schema;
}

/** Statuses of failures of a query. */
export const OF_QUERIES = ["400", "401", "403", "413", "415", "422", "429", "500", "503"];

/** Refers to a schema of the document. */
export function ref(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
