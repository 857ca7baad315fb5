import type { Session } from "@patchbay/protocol/console";
import type { Exchange } from "../../http/deps.ts";
import type { SessionRecord } from "../../ports/console-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import type { Sessions } from "../sign-in/sessions.ts";
import { transportOf } from "../sign-in/transport.ts";

type SessionRoutes = "GET /session" | "DELETE /session";

export function sessionHandlers(deps: ConsoleDeps, sessions: Sessions): HandlersOf<SessionRoutes> {
  return {
    async "GET /session"({ by, exchange }) {
      const session = await deps.store.console.signIn.session(by.sessionId);
      if (!session) throw new ServiceError("authentication_failed", "Sign in: the session is over.");
      return shownSession(exchange, deps, session);
    },
    async "DELETE /session"({ by, exchange }) {
      await sessions.close(exchange, by.sessionId);
    },
  };
}

export function shownSession(exchange: Exchange, deps: ConsoleDeps, session: SessionRecord): Session {
  const { member, org, expiresAt, confirmedUntil } = session;
  const { memberId, name, email, role, passwordHash } = member;
  return {
    member: { memberId, name, email, role, hasPassword: passwordHash !== null },
    organisation: org,
    expiresAt: new Date(expiresAt).toISOString(),
    confirmedUntil: new Date(confirmedUntil).toISOString(),
    version: deps.version,
    baseUrl: deps.publicUrl ?? transportOf(exchange, deps)?.origin ?? new URL(exchange.c.req.url).origin,
    local: deps.local,
  };
}
