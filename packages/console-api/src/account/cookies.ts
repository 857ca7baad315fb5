import { createHmac, timingSafeEqual } from "node:crypto";
import { getCookie } from "hono/cookie";
import { randomBase62 } from "@patchbay/server/accounts/secret";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { MemberRecord } from "@patchbay/engine/ports/store/members";
import { type Transport, type TransportDeps, transportOf } from "./transport.ts";

/** `known` proves that the browser has signed in before. It gives no access. */
export type CookieName = "session" | "known";

export function readCookie({ c }: Exchange, transport: Transport, name: CookieName): string | undefined {
  return getCookie(c, cookieName(transport, name)) || undefined;
}

export function setCookie(
  { cookies }: Exchange,
  transport: Transport,
  { name, value, seconds }: { name: CookieName; value: string; seconds: number },
): void {
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${transport.secure ? "; Secure" : ""}`;
  cookies.push(`${cookieName(transport, name)}=${value}; ${attributes}`);
}

/**
 * Browsers accept a `__Host-` cookie only from this host over https, so that no other host can set it. They send a
 * host's cookies to all its ports: the port in the name separates services on one machine.
 */
function cookieName({ secure, origin }: Transport, name: CookieName): string {
  const service = secure ? "__Host-patchbay" : `patchbay-${/:(\d+)$/.exec(origin)?.[1] ?? "80"}`;
  return name === "session" ? service : `${service}-${name}`;
}

type Account = Pick<MemberRecord, "memberId" | "passwordHash">;

/** The maximum that browsers allow. */
const LIFE_SECONDS = 400 * 86_400;
/** Accounts per browser. */
const MOST = 4;

/**
 * Recognises browsers with an earlier sign-in to an account, so that guesses from elsewhere do not lock its owner out.
 * The cookie contains an id and a signature for each account. The signature's key is the account's password hash:
 * nothing is stored, every replica can check it, and a new password invalidates it.
 */
export function createKnownBrowsers(deps: TransportDeps) {
  function tokensOf(exchange: Exchange): string[] {
    const transport = transportOf(exchange, deps);
    const cookie = transport && readCookie(exchange, transport, "known");
    return cookie === undefined ? [] : cookie.split("~").slice(0, MOST);
  }

  return {
    /** The browser's id, if it has signed in to the account with the current password. */
    idOf(exchange: Exchange, account: Account | undefined): string | undefined {
      const token = account && tokensOf(exchange).find((known) => isOf(account, known));
      return token?.split(".")[0];
    },

    /** Sets a cookie that proves this sign-in later. It is not a session. */
    remember(exchange: Exchange, account: Account): void {
      const transport = transportOf(exchange, deps);
      if (!transport || account.passwordHash === null) return;
      const id = randomBase62(22);
      const others = tokensOf(exchange).filter((known) => !isOf(account, known));
      const value = [`${id}.${signatureOf(account.passwordHash, account.memberId, id)}`, ...others]
        .slice(0, MOST)
        .join("~");
      setCookie(exchange, transport, { name: "known", value, seconds: LIFE_SECONDS });
    },
  };
}

function isOf({ memberId, passwordHash }: Account, token: string): boolean {
  const [id = "", signature = ""] = token.split(".");
  if (passwordHash === null || id === "") return false;
  const [given, own] = [Buffer.from(signature), Buffer.from(signatureOf(passwordHash, memberId, id))];
  return given.length === own.length && timingSafeEqual(given, own);
}

function signatureOf(passwordHash: string, memberId: string, id: string): string {
  return createHmac("sha256", passwordHash).update(`known browser ${memberId} ${id}`).digest("base64url");
}
