import type { ConsoleRole, ConsoleRouteName, ConsoleRoutes } from "@patchbay/protocol/console";
import type { z } from "zod";
import type { Exchange } from "../http/deps.ts";

/** Who asks: a member, by the cookie of a session. */
export interface SignedIn {
  sessionId: string;
  memberId: string;
  orgId: string;
  /** Tier of the organisation. */
  tier: string;
  role: ConsoleRole;
}

/** A request to the console on its way to its response. */
export interface ConsoleExchange extends Exchange {
  /** Values of `Set-Cookie`, each a header of its own. */
  readonly cookies: string[];
}

type Names<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? Names<Part> | Names<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

type Member<Name extends ConsoleRouteName, Key extends "query" | "body"> =
  ConsoleRoutes[Name] extends Record<Key, infer Schema extends z.ZodType> ? z.output<Schema> : undefined;

type Asker<Name extends ConsoleRouteName> = ConsoleRoutes[Name]["needs"] extends "nobody" ? undefined : SignedIn;

/** A request that was let in: signed in where the route needs it, of a role that may, and of the shapes that the route takes. */
export interface ConsoleRequest<Name extends ConsoleRouteName> {
  params: Record<Names<Name>, string>;
  query: Member<Name, "query">;
  body: Member<Name, "body">;
  /** Undefined on routes for nobody in particular. */
  by: Asker<Name>;
  exchange: ConsoleExchange;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
}

type AnswerOf<Name extends ConsoleRouteName> = ConsoleRoutes[Name]["answer"] extends infer Schema extends z.ZodType
  ? z.input<Schema>
  : ConsoleRoutes[Name]["answer"] extends "nothing"
    ? void
    : Response;

/** Answers one route; throws `ServiceError` or `ConsoleError`. The store shows it the member's organisation alone. */
export type ConsoleHandler<Name extends ConsoleRouteName> = (request: ConsoleRequest<Name>) => Promise<AnswerOf<Name>>;

export type ConsoleHandlers = { [Name in ConsoleRouteName]: ConsoleHandler<Name> };

/** The handlers of some routes, which one file gives. */
export type HandlersOf<Name extends ConsoleRouteName> = Pick<ConsoleHandlers, Name>;
