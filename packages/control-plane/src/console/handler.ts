import type { ConsoleRouteName, ConsoleRoutes, Session } from "@patchbay/protocol/console";
import type { z } from "zod";
import type { AccessWatch } from "../accounts/access-watch.ts";
import type { Admin } from "../accounts/admin.ts";
import type { Tiers } from "../accounts/limits.ts";
import type { Exchange } from "../http/kernel/exchange.ts";
import type { HttpDeps } from "../http/query/deps.ts";
import type { StreamOwner } from "../http/query/open-streams.ts";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import type { ModelCatalog, ProviderList } from "../ports/model-provider.ts";
import { ServiceError } from "../ports/service-error.ts";
import type { Agent, Store } from "../ports/stores.ts";
import type { Principal } from "../run/api.ts";
import type { Actor, SignedIn } from "./actors.ts";
import type { ConsoleQueries } from "./queries.ts";

/** Dependencies of the console's routes. */
export interface ConsoleDeps extends HttpDeps {
  store: Store;
  queries: ConsoleQueries;
  /** An `Admin` that acts for a member or a service token, which the audit log names. */
  adminOf(actorId: string): Admin;
  gateway: FunctionGateway;
  models: ModelCatalog & ProviderList;
  tiers: Tiers;
  /** Ends open streams with their session. */
  access: AccessWatch;
  /** Aborted when the process begins to stop. */
  closing: AbortSignal;
  /** Days that ended runs, audit entries and usage are kept. */
  retentionDays: number;
  auditDays: number;
  usageDays: number;
  databaseOption: Session["databaseOption"];
  /** Folder of the built console. Without it, `/console` explains how to build it. */
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

/** A request that passed the checks of its route: sign-in or token, role or scopes, and the shapes of query and body. */
export interface ConsoleRequest<Name extends ConsoleRouteName> {
  params: Record<Names<Name>, string>;
  query: Member<Name, "query">;
  body: Member<Name, "body">;
  /** Undefined on public routes. */
  by: Asker<Name>;
  /** The agent that the path names, on routes with `:agent_id`. */
  agent: Name extends `${string}:agent_id${string}` ? Agent : undefined;
  exchange: Exchange;
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

/** The handlers of some routes. */
export type HandlersOf<Name extends ConsoleRouteName> = Pick<ConsoleHandlers, Name>;

/** The same error for what does not exist and for what belongs to another organisation. */
export function notFound(what: string): ServiceError {
  return new ServiceError("not_found", `The ${what} was not found in this organisation.`);
}

/** The value of a query that found something; throws `not_found` otherwise. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(what);
  return value;
}

/** The agent with this id. Throws `not_found` for agents of other organisations too. */
export async function agentOf(store: Store, orgId: string, agentId: string): Promise<Agent> {
  const agent = await store.accounts.getAgent(agentId);
  if (agent?.orgId !== orgId) throw notFound("agent");
  return agent;
}

/** Members may query as any role. Whether they may query at all depends on their console role. */
export function callerOf({ actorId, orgId, tier }: Actor, agentId: string): Principal {
  return { keyId: actorId, agentId, orgId, tier };
}

/** Streams of an actor end soon after the session or the token. */
export function ownerOf({ actorId, orgId, access }: Actor): StreamOwner {
  return { orgId, keyId: actorId, access };
}

const DEFAULT_LIMIT = 50;

/** The query parameters of a list, with the default page size. */
export function paged<Query extends { limit?: number | undefined }>(query: Query): Query & { limit: number } {
  return { ...query, limit: query.limit ?? DEFAULT_LIMIT };
}
