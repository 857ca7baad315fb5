import { z } from "zod";
import { HTTP_ERROR_CODES } from "../codes.ts";
import type { ServiceScope } from "./scopes.ts";

/** What a member may do. A viewer reads, a developer also manages agents and keys and sends queries, an owner also manages members. */
export const CONSOLE_ROLES = ["viewer", "developer", "owner"] as const;
/** One of `CONSOLE_ROLES`. */
export const ConsoleRole = z.enum(CONSOLE_ROLES);
export type ConsoleRole = z.infer<typeof ConsoleRole>;

/** Who may use a route: everyone, or members with this role or a higher one. */
export type Needs = "public" | ConsoleRole;

/** One route in the console's API. Handlers, the OpenAPI document, the client's types and tests are derived from it. */
export interface ConsoleRoute {
  needs: Needs;
  /** Alternative scope sets with which service tokens may use the route. Without it, only members in a session may. */
  scopes?: readonly (readonly ServiceScope[])[];
  summary: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The response: JSON with this schema, server-sent events, or nothing (204). */
  /** `file`: a download, in the format that the query asks for. */
  answer: z.ZodType | "events" | "file" | "nothing";
  /** Default 200. */
  status?: 201;
  /**
   * What an `Idempotency-Key` does on a POST route. Default: a repetition gets the stored response. `run`: it joins the run.
   * `none`: nothing, because the route makes nothing that a repetition would make twice, or has no actor.
   */
  idempotency?: "run" | "none";
  /** True for routes that need the member's password, entered within the last 15 minutes. */
  confirmed?: true;
}

/** A route that all members may read, with its query parameters. */
export const read = <Query extends z.ZodRawShape, Answer extends ConsoleRoute["answer"]>(
  summary: string,
  query: Query,
  answer: Answer,
) => ({ needs: "viewer" as const, summary, query: z.object(query), answer });

/** As `read`, also for service tokens with this scope. */
export const readBy = <Query extends z.ZodRawShape, Answer extends ConsoleRoute["answer"]>(
  scope: ServiceScope,
  summary: string,
  query: Query,
  answer: Answer,
) => ({ ...read(summary, query, answer), scopes: [[scope]] as const });

/** Error codes that only the console's API has. */
export const CONSOLE_ERROR_CODES = [
  /** The browser does not state that the request comes from the console's own pages. */
  "csrf_refused",
  /** The change needs a password that was entered in the last 15 minutes: send it to `POST /session/confirm`, then repeat the request. */
  "confirmation_required",
  /** The member's console role does not permit the change. */
  "console_role_required",
  /** The service token lacks a scope that the request needs, or service tokens may not use the route. */
  "scope_required",
] as const;

/** Body for every 4xx and 5xx response, with the same properties as a query API error. */
export const ConsoleProblem = z.object({
  success: z.literal(false),
  errorMessage: z.string(),
  code: z.enum([...HTTP_ERROR_CODES, ...CONSOLE_ERROR_CODES]),
  requestId: z.string(),
  status: z.string().optional(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type ConsoleProblem = z.infer<typeof ConsoleProblem>;

/** Times are ISO 8601 in UTC, money is US dollars, durations are milliseconds. */
export const time = z.iso.datetime();
/** For endpoints that filter, sort, sum or search runs by their index. */
export const indexedTo = time
  .optional()
  .describe("Runs that ended after this time may be missing, because the index is behind. Absent while it is not.");

/** One list page. `nextCursor` requests the next page; it is null on the last one. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() });

/** Query parameters for every list. `limit` defaults to 50. */
export const paging = {
  // Digits only: Number also reads 0x10 and 1e1.
  limit: z.preprocess((text) => (/^\d+$/.test(String(text)) ? Number(text) : text), z.int().min(1).max(100)).optional(),
  cursor: z.string().max(1_000).optional(),
};

/** A time range: `from` is included, `to` is not. Default: the last 24 hours. */
export const range = { from: time.optional(), to: time.optional() };

/** A name that people give. */
export const label = z.string().trim().min(1).max(200);
