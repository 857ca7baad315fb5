import { isoTime } from "@patchbay/kit";
import type { Session } from "@patchbay/protocol/console";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { Client } from "@patchbay/engine/ports/fair-queue";
import type { MemberRecord, SessionRecord } from "@patchbay/engine/ports/store/members";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { ConsoleDeps, Handlers } from "../handler.ts";
import { createAttempts } from "./attempts.ts";
import { createKnownBrowsers } from "./cookies.ts";
import { createPasswords } from "./passwords.ts";
import { createSessions } from "./sessions.ts";
import { requireTransport, type TransportDeps, transportOf } from "./transport.ts";

/** What signing in needs. */
export type SignInDeps = Pick<
  ConsoleDeps,
  "store" | "clock" | "version" | "local" | "databaseOption" | "publicUrl" | "trustProxy"
>;

export function sessionRoutes(deps: SignInDeps, signIn: SignIn) {
  const { members, signIn: stored } = deps.store;
  const { sessions, passwords, attempts, knownBrowsers } = signIn;

  /** Checks a signed-in member's password. Resolves with the client for further hashes. */
  async function ownPassword(
    exchange: Exchange,
    { member, sessionId, password }: { member: MemberRecord; sessionId: string; password: string },
  ): Promise<Client> {
    const guess = { account: member.memberId, browser: sessionId };
    const client = await attempts.take(exchange, guess);
    if (!(await passwords.verify(password, member.passwordHash, client)))
      throw invalid([{ path: "password", message: "is not your password" }]);
    await attempts.succeeded(exchange, guess);
    return client;
  }

  async function currentSession(sessionId: string): Promise<SessionRecord> {
    const session = await stored.session(sessionId);
    if (!session) throw new ServiceError("authentication_failed", "Sign in: the session has ended.");
    return session;
  }

  return {
    async "POST /session"({ body, exchange }) {
      requireTransport(exchange, deps);
      const member = await members.byEmail(body.email);
      const guess = { account: body.email, browser: knownBrowsers.idOf(exchange, member) };
      const client = await attempts.take(exchange, guess);
      // Same response and time for an unknown address and a wrong password: neither reveals membership.
      if (!(await passwords.verify(body.password, member?.passwordHash, client)) || !member)
        throw new ServiceError("authentication_failed", "The e-mail address or the password is wrong.");
      await attempts.succeeded(exchange, guess);
      await deps.store.audit.record([
        { orgId: member.orgId, keyId: member.memberId, action: "member.signed_in", detail: { by: "password" } },
      ]);
      const session = await sessions.open(exchange, member);
      knownBrowsers.remember(exchange, member);
      return shownSession(exchange, deps, session);
    },

    "GET /sign-in": () => Promise.resolve({ local: deps.local }),

    async "GET /session"({ by, exchange }) {
      return shownSession(exchange, deps, await currentSession(by.sessionId));
    },

    async "DELETE /session"({ by, exchange }) {
      await sessions.close(exchange, by.sessionId);
    },

    async "POST /session/confirm"({ by, body, exchange }) {
      const { member } = await currentSession(by.sessionId);
      const { sessionId } = by;
      await ownPassword(exchange, { member, sessionId, password: body.password });
      return shownSession(exchange, deps, await sessions.rotate(exchange, sessionId));
    },

    async "PATCH /account"({ by, body, exchange }) {
      const { name, password } = body;
      const { member } = await currentSession(by.sessionId);
      if (password === undefined) {
        if (name !== undefined) await members.changeAccount(by.memberId, { name });
        return shownSession(exchange, deps, await currentSession(by.sessionId));
      }
      if (member.passwordHash === null)
        throw invalid([{ path: "password", message: "cannot be changed: you sign in by a link, and have none" }]);
      const { sessionId } = by;
      const client = await ownPassword(exchange, { member, sessionId, password: password.current });
      const passwordHash = await passwords.hash(password.next, client);
      // Ends all sessions of the member: another person who knew the old password may have one.
      await members.changeAccount(by.memberId, { passwordHash, ...(name !== undefined && { name }) });
      const audit = { orgId: by.orgId, keyId: by.memberId, action: "member.password_changed" };
      await deps.store.audit.record([audit]);
      const session = await sessions.open(exchange, member);
      knownBrowsers.remember(exchange, { ...member, passwordHash });
      return shownSession(exchange, deps, session);
    },
  } satisfies Handlers;
}

export function shownSession(exchange: Exchange, deps: SignInDeps, session: SessionRecord): Session {
  const { member, org, expiresAt, confirmedUntil } = session;
  const { memberId, name, email, role, passwordHash } = member;
  return {
    member: { memberId, name, email, role, hasPassword: passwordHash !== null },
    organisation: org,
    expiresAt: isoTime(expiresAt),
    confirmedUntil: isoTime(confirmedUntil),
    version: deps.version,
    baseUrl: baseUrlOf(exchange, deps),
    local: deps.local,
    databaseOption: deps.databaseOption,
  };
}

/** The service's base address as the client sees it. */
export function baseUrlOf(exchange: Exchange, deps: TransportDeps): string {
  return deps.publicUrl ?? transportOf(exchange, deps)?.origin ?? new URL(exchange.c.req.url).origin;
}

/** The parts for signing in and out. */
export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(deps: SignInDeps) {
  return {
    sessions: createSessions(deps),
    passwords: createPasswords(),
    attempts: createAttempts(deps),
    knownBrowsers: createKnownBrowsers(deps),
  };
}
