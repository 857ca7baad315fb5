import { hashSecret, newSecret } from "../../accounts/secret.ts";
import type { Exchange } from "../../http/kernel/exchange.ts";
import type { SessionRecord } from "../../ports/members.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Store } from "../../ports/stores.ts";
import type { SignedIn } from "../actors.ts";
import { readCookie, setCookie } from "./cookies.ts";
import { requireTransport, transportOf, type TransportDeps } from "./transport.ts";

/** The member behind a session cookie. */
export interface Visitor {
  by: SignedIn;
  hasPassword: boolean;
  /** True when the password was entered in the last 15 minutes. */
  confirmed: boolean;
}

/** Browser sessions. The database has only hashes of their secrets. A member's role is read for each request. */
export interface Sessions {
  /** Throws `authentication_failed` without the cookie of an open session. */
  require(exchange: Exchange): Promise<Visitor>;
  /** Opens a session and sets its cookie. */
  open(exchange: Exchange, member: { memberId: string }): Promise<SessionRecord>;
  /** Replaces the session's secret after the password was entered again. */
  rotate(exchange: Exchange, sessionId: string): Promise<SessionRecord>;
  /** Ends the session and deletes its cookie. */
  close(exchange: Exchange, sessionId: string): Promise<void>;
}

type SessionDeps = { store: Pick<Store, "signIn">; local: boolean } & TransportDeps;

const WEEK_SECONDS = 7 * 86_400;

export function createSessions(deps: SessionDeps): Sessions {
  const { signIn } = deps.store;

  async function withCookie(exchange: Exchange, secret: string): Promise<SessionRecord> {
    const session = await signIn.session(hashSecret(secret));
    if (!session) throw ended();
    const transport = requireTransport(exchange, deps);
    setCookie(exchange, transport, { name: "session", value: secret, seconds: WEEK_SECONDS });
    return session;
  }

  return {
    async require(exchange) {
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

    async open(exchange, { memberId }) {
      requireTransport(exchange, deps);
      const secret = newSecret();
      await signIn.openSession({ hash: hashSecret(secret), memberId });
      return withCookie(exchange, secret);
    },

    async rotate(exchange, sessionId) {
      const secret = newSecret();
      if (!(await signIn.rotateSession({ hash: sessionId, next: hashSecret(secret) }))) throw ended();
      return withCookie(exchange, secret);
    },

    async close(exchange, sessionId) {
      await signIn.closeSession(sessionId);
      const transport = transportOf(exchange, deps);
      if (transport) setCookie(exchange, transport, { name: "session", value: "", seconds: 0 });
    },
  };
}

function ended(): ServiceError {
  return new ServiceError("authentication_failed", "Sign in: there is no session, or it has ended.");
}
