import type { ConsoleRouteName, ConsoleRoutes, Session } from "@patchbay/protocol/console";
import type { z } from "zod";
import type { AccessWatch } from "@patchbay/engine/ports/access-watch";
import type { Admin } from "@patchbay/server/accounts/admin";
import type { Tiers } from "@patchbay/server/accounts/limits";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { HttpDeps } from "@patchbay/server/query/deps";
import type { StreamOwner } from "@patchbay/server/query/open-streams";
import type { StreamDeps } from "@patchbay/server/query/stream-run";
import type { FunctionGateway } from "@patchbay/engine/ports/function-gateway";
import type { ModelCatalog, ProviderList } from "@patchbay/engine/ports/model-provider";
import type { Metrics } from "@patchbay/engine/ports/metrics";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Agent, Store } from "@patchbay/engine/ports/store/stores";
import type { Principal } from "@patchbay/engine/run/api";
import type { Actor, SignedIn } from "./actors.ts";
import type { ConsoleQueries } from "./queries.ts";

/** Dependencies of the console's routes. Each area picks what it needs. */
export interface ConsoleDeps
  extends
    StreamDeps,
    Pick<HttpDeps, "approvals" | "rateLimit" | "reads" | "within" | "limits" | "closing">,
    Pick<HttpDeps, "version" | "local" | "publicUrl" | "trustProxy"> {
  metrics: Pick<Metrics, "requestAnswered">;
  store: Store;
  queries: ConsoleQueries;
  /** An `Admin` for a member or a service token, which the audit log names. */
  adminOf(actorId: string): Admin;
  gateway: FunctionGateway;
  models: ModelCatalog & ProviderList;
  tiers: Tiers;
  /** Ends open streams with their session. */
  access: AccessWatch;
  /** Days for which ended runs, audit entries and usage are kept. */
  retentionDays: number;
  auditDays: number;
  usageDays: number;
  databaseOption: Session["databaseOption"];
  /** Folder with the built console. Without it, `/console` explains how to build it. */
  consoleFiles?: string;
}

type Names<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? Names<Part> | Names<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

type Member<Name extends ConsoleRouteName, Key extends "query" | "body"> =
  ConsoleRoutes[Name] extends Record<Key, infer Schema extends z.ZodType> ? z.output<Schema> : undefined;

type Asker<Name extends ConsoleRouteName> = ConsoleRoutes[Name]["needs"] extends "public"
  ? undefined
  : ConsoleRoutes[Name] extends { scopes: unknown }
    ? Actor
    : SignedIn;

/** A request that passed its route's checks: sign-in or token, role or scopes, and the query and body schemas. */
export interface ConsoleRequest<Name extends ConsoleRouteName> {
  params: Record<Names<Name>, string>;
  query: Member<Name, "query">;
  body: Member<Name, "body">;
  /** Undefined on public routes. */
  by: Asker<Name>;
  /** The agent in the path, on routes with `:agent_id`. */
  agent: Name extends `${string}:agent_id${string}` ? Agent : undefined;
  exchange: Exchange;
  /** True if the request repeats an ended one whose response is read again. */
  again?: boolean;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

type AnswerOf<Name extends ConsoleRouteName> = ConsoleRoutes[Name]["answer"] extends infer Schema extends z.ZodType
  ? z.input<Schema>
  : ConsoleRoutes[Name]["answer"] extends "nothing"
    ? void
    : Response;

/** Handles one route; throws `ServiceError`. The store is restricted to the member's organisation. */
export type ConsoleHandler<Name extends ConsoleRouteName> = (request: ConsoleRequest<Name>) => Promise<AnswerOf<Name>>;

export type ConsoleHandlers = { [Name in ConsoleRouteName]: ConsoleHandler<Name> };

/** The handlers of some routes, which get their types from the routes' names. */
export type Handlers = Partial<ConsoleHandlers>;

/** The same error for missing things and for another organisation's. */
export const notFound = (what: string): ServiceError =>
  new ServiceError("not_found", `The ${what} was not found in this organisation.`);

/** The result of a query; throws `not_found` without one. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(what);
  return value;
}

/** The agent with this id. Throws `not_found` also for another organisation's agents. */
export async function agentOf({ accounts }: Pick<Store, "accounts">, orgId: string, agentId: string): Promise<Agent> {
  const agent = await accounts.getAgent(agentId);
  if (agent?.orgId !== orgId) throw notFound("agent");
  return agent;
}

/** Members may query as any role. Whether they may query at all depends on their console role. */
export function callerOf({ actorId, orgId, tier }: Actor, agentId: string): Principal {
  return { keyId: actorId, agentId, orgId, tier };
}

/** An actor's streams end soon after the session or the token. */
export function ownerOf({ actorId, orgId, access }: Actor): StreamOwner {
  return { orgId, keyId: actorId, access };
}

const DEFAULT_LIMIT = 50;

/** A list's query parameters, with the default page size. */
export function paged<Query extends { limit?: number | undefined }>(query: Query): Query & { limit: number } {
  return { ...query, limit: query.limit ?? DEFAULT_LIMIT };
}
