import { hashSecret, newSecret } from "../../accounts/secret.ts";
import type { SessionRecord } from "../../ports/console-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Store } from "../../ports/stores.ts";
import type { ConsoleExchange, SignedIn } from "../handler.ts";
import { readCookie, setCookie } from "./cookies.ts";
import { requireTransport, transportOf, type TransportDeps } from "./transport.ts";

/** Who came with a session's cookie. */
export interface Visitor {
  by: SignedIn;
  hasPassword: boolean;
  /** The password was given in the last 15 minutes. */
  confirmed: boolean;
}

/** Sessions of browsers. The database knows only hashes of their secrets; a member's role is read anew for each request. */
export interface Sessions {
  /** Throws `authentication_failed` without the cookie of a session that goes on. */
  require(exchange: ConsoleExchange): Promise<Visitor>;
  /** Opens one and sets its cookie. */
  open(exchange: ConsoleExchange, member: { memberId: string }): Promise<SessionRecord>;
  /** Puts another secret in place of the session's own, now that the password was given again. */
  rotate(exchange: ConsoleExchange, sessionId: string): Promise<SessionRecord>;
  /** Ends it and takes the cookie back. */
  close(exchange: ConsoleExchange, sessionId: string): Promise<void>;
}

type SessionDeps = { store: Pick<Store, "console">; local: boolean } & TransportDeps;

const WEEK_SECONDS = 7 * 86_400;

export function createSessions(deps: SessionDeps): Sessions {
  const { signIn } = deps.store.console;

  async function present(exchange: ConsoleExchange, secret: string): Promise<SessionRecord> {
    const session = await signIn.session(hashSecret(secret));
    if (!session) throw over();
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
      // Without a password one is signed in for development alone, even on a database that is served later.
      if (!session || (session.member.passwordHash === null && !deps.local)) throw over();
      if (session.stale) await signIn.touchSession(sessionId);
      const { member, org, confirmed } = session;
      const { memberId, role } = member;
      const by = { sessionId, memberId, orgId: org.orgId, tier: org.tier, role };
      return { by, hasPassword: member.passwordHash !== null, confirmed };
    },

    async open(exchange, { memberId }) {
      requireTransport(exchange, deps);
      const secret = newSecret();
      await signIn.openSession({ hash: hashSecret(secret), memberId });
      return present(exchange, secret);
    },

    async rotate(exchange, sessionId) {
      const secret = newSecret();
      if (!(await signIn.rotateSession({ hash: sessionId, next: hashSecret(secret) }))) throw over();
      return present(exchange, secret);
    },

    async close(exchange, sessionId) {
      await signIn.closeSession(sessionId);
      const transport = transportOf(exchange, deps);
      if (transport) setCookie(exchange, transport, { name: "session", value: "", seconds: 0 });
    },
  };
}

function over(): ServiceError {
  return new ServiceError("authentication_failed", "Sign in: there is no session, or it is over.");
}
