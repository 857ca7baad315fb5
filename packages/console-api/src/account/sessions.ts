import { hashSecret, newSecret } from "@patchbay/server/accounts/secret";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { SessionRecord } from "@patchbay/engine/ports/store/members";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Store } from "@patchbay/engine/ports/store/stores";
import type { SignedIn } from "../actors.ts";
import { readCookie, setCookie } from "./cookies.ts";
import { requireTransport, transportOf, type TransportDeps } from "./transport.ts";

/** A session cookie's member. */
export interface Visitor {
  by: SignedIn;
  hasPassword: boolean;
  /** True when the password was entered in the last 15 minutes. */
  confirmed: boolean;
}

type SessionDeps = { store: Pick<Store, "signIn">; local: boolean } & TransportDeps;

const WEEK_SECONDS = 7 * 86_400;

/** Browser sessions. The database has only hashes of their secrets. A member's role is read for each request. */
export function createSessions(deps: SessionDeps) {
  const { signIn } = deps.store;

  async function withCookie(exchange: Exchange, secret: string): Promise<SessionRecord> {
    const session = await signIn.session(hashSecret(secret));
    if (!session) throw ended();
    const transport = requireTransport(exchange, deps);
    setCookie(exchange, transport, { name: "session", value: secret, seconds: WEEK_SECONDS });
    return session;
  }

  return {
    /** Throws `authentication_failed` without an open session's cookie. */
    async require(exchange: Exchange): Promise<Visitor> {
      const transport = transportOf(exchange, deps);
      const secret = transport && readCookie(exchange, transport, "session");
      const sessionId = secret === undefined ? "" : hashSecret(secret);
      const session = secret === undefined ? undefined : await signIn.session(sessionId);
      // Sessions without a password are for development, also when a production service later uses the database.
      if (!session || (session.member.passwordHash === null && !deps.local)) throw ended();
      if (session.stale) await signIn.touchSession(sessionId);
      const { member, org, confirmed } = session;
      const { memberId, role } = member;
      const { orgId, tier } = org;
      const access = { kind: "session" as const, id: sessionId };
      const by = { actorId: memberId, sessionId, memberId, orgId, tier, role, access };
      return { by, hasPassword: member.passwordHash !== null, confirmed };
    },

    /** Opens a session and sets its cookie. */
    async open(exchange: Exchange, { memberId }: { memberId: string }): Promise<SessionRecord> {
      requireTransport(exchange, deps);
      const secret = newSecret();
      await signIn.openSession({ hash: hashSecret(secret), memberId });
      return withCookie(exchange, secret);
    },

    /** Replaces the session's secret after the password was entered again. */
    async rotate(exchange: Exchange, sessionId: string): Promise<SessionRecord> {
      const secret = newSecret();
      if (!(await signIn.rotateSession({ hash: sessionId, next: hashSecret(secret) }))) throw ended();
      return withCookie(exchange, secret);
    },

    /** Ends the session and deletes its cookie. */
    async close(exchange: Exchange, sessionId: string): Promise<void> {
      await signIn.closeSession(sessionId);
      const transport = transportOf(exchange, deps);
      if (transport) setCookie(exchange, transport, { name: "session", value: "", seconds: 0 });
    },
  };
}

const ended = (): ServiceError =>
  new ServiceError("authentication_failed", "Sign in: there is no session, or it has ended.");
