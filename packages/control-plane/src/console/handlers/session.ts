import type { Session } from "@patchbay/protocol/console";
import type { Exchange } from "../../http/deps.ts";
import type { MemberRecord, SessionRecord } from "../../ports/console-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import type { SignIn } from "../sign-in/sign-in.ts";
import { requireTransport, transportOf } from "../sign-in/transport.ts";

type SessionRoutes = "POST /session" | "GET /session" | "DELETE /session" | "POST /session/confirm" | "PATCH /account";

export function sessionHandlers(deps: ConsoleDeps, signIn: SignIn): HandlersOf<SessionRoutes> {
  const { members, signIn: stored } = deps.store.console;
  const { sessions, passwords, attempts } = signIn;

  async function ownPassword(exchange: Exchange, member: MemberRecord, password: string): Promise<void> {
    await attempts.take(exchange, member.memberId);
    if (!(await passwords.verify(password, member.passwordHash))) throw wrong("password", "is not your password");
    await attempts.succeeded(exchange, member.memberId);
  }

  async function presentSession(sessionId: string): Promise<SessionRecord> {
    const session = await stored.session(sessionId);
    if (!session) throw new ServiceError("authentication_failed", "Sign in: the session is over.");
    return session;
  }

  return {
    async "POST /session"({ body, exchange }) {
      requireTransport(exchange, deps);
      await attempts.take(exchange, body.email);
      const member = await members.byEmail(body.email);
      // As long and the same answer, whether there is no such member or the password is wrong.
      if (!(await passwords.verify(body.password, member?.passwordHash)) || !member)
        throw new ServiceError("authentication_failed", "The e-mail address or the password is wrong.");
      await attempts.succeeded(exchange, body.email);
      await deps.store.audit.record([
        { orgId: member.orgId, keyId: member.memberId, action: "member.signed_in", detail: { by: "password" } },
      ]);
      return shownSession(exchange, deps, await sessions.open(exchange, member));
    },

    async "GET /session"({ by, exchange }) {
      return shownSession(exchange, deps, await presentSession(by.sessionId));
    },

    async "DELETE /session"({ by, exchange }) {
      await sessions.close(exchange, by.sessionId);
    },

    async "POST /session/confirm"({ by, body, exchange }) {
      const { member } = await presentSession(by.sessionId);
      await ownPassword(exchange, member, body.password);
      return shownSession(exchange, deps, await sessions.rotate(exchange, by.sessionId));
    },

    async "PATCH /account"({ by, body, exchange }) {
      const { name, password } = body;
      const { member } = await presentSession(by.sessionId);
      if (password === undefined) {
        if (name !== undefined) await members.changeAccount(by.memberId, { name });
        return shownSession(exchange, deps, await presentSession(by.sessionId));
      }
      if (member.passwordHash === null)
        throw wrong("password", "cannot be changed: you sign in by a link, and have none");
      await ownPassword(exchange, member, password.present);
      const passwordHash = await passwords.hash(password.next);
      // Ends every session of the member, for whoever knew the old password may have one.
      await members.changeAccount(by.memberId, { passwordHash, ...(name !== undefined && { name }) });
      const audit = { orgId: by.orgId, keyId: by.memberId, action: "member.password_changed" };
      await deps.store.audit.record([audit]);
      return shownSession(exchange, deps, await sessions.open(exchange, member));
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
    baseUrl: baseUrlOf(exchange, deps),
    local: deps.local,
  };
}

/** Where the service is, as the one who asks sees it. */
export function baseUrlOf(exchange: Exchange, deps: ConsoleDeps): string {
  return deps.publicUrl ?? transportOf(exchange, deps)?.origin ?? new URL(exchange.c.req.url).origin;
}

function wrong(path: string, message: string): ServiceError {
  return new ServiceError("invalid_request", `Invalid request: ${path}: ${message}`, { details: [{ path, message }] });
}
