import type { Session } from "@patchbay/protocol/console";
import type { Exchange } from "../../http/kernel/exchange.ts";
import type { Client } from "../../http/kernel/fair-queue.ts";
import type { MemberRecord, SessionRecord } from "../../ports/members.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import type { ConsoleDeps, HandlersOf } from "../handler.ts";
import { type Attempts, createAttempts } from "./attempts.ts";
import { createKnownBrowsers, type KnownBrowsers } from "./cookies.ts";
import { createPasswords, type Passwords } from "./passwords.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { requireTransport, transportOf } from "./transport.ts";

type SessionRoutes =
  | "GET /sign-in"
  | "POST /session"
  | "GET /session"
  | "DELETE /session"
  | "POST /session/confirm"
  | "PATCH /account";

interface OwnPassword {
  member: MemberRecord;
  sessionId: string;
  password: string;
}

export function sessionRoutes(deps: ConsoleDeps, signIn: SignIn): HandlersOf<SessionRoutes> {
  const { members, signIn: stored } = deps.store;
  const { sessions, passwords, attempts, knownBrowsers } = signIn;

  /** Checks the password of a signed-in member. Resolves with the client that further hashes are made for. */
  async function ownPassword(exchange: Exchange, { member, sessionId, password }: OwnPassword): Promise<Client> {
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
      // Same response and same time for an unknown address and a wrong password: neither reveals who is a member.
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
      // This ends all sessions of the member: another person who knew the old password may have one.
      await members.changeAccount(by.memberId, { passwordHash, ...(name !== undefined && { name }) });
      const audit = { orgId: by.orgId, keyId: by.memberId, action: "member.password_changed" };
      await deps.store.audit.record([audit]);
      const session = await sessions.open(exchange, member);
      knownBrowsers.remember(exchange, { ...member, passwordHash });
      return shownSession(exchange, deps, session);
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
    databaseOption: deps.databaseOption,
  };
}

/** Base address of the service as the client sees it. */
export function baseUrlOf(exchange: Exchange, deps: ConsoleDeps): string {
  return deps.publicUrl ?? transportOf(exchange, deps)?.origin ?? new URL(exchange.c.req.url).origin;
}

/** The parts of signing in and out. */
export interface SignIn {
  sessions: Sessions;
  passwords: Passwords;
  attempts: Attempts;
  knownBrowsers: KnownBrowsers;
}

export function createSignIn(deps: ConsoleDeps): SignIn {
  return {
    sessions: createSessions(deps),
    passwords: createPasswords(),
    attempts: createAttempts(deps),
    knownBrowsers: createKnownBrowsers(deps),
  };
}
