import { createHmac, timingSafeEqual } from "node:crypto";
import { randomBase62 } from "../../accounts/secret.ts";
import type { MemberRecord } from "../../ports/console-store.ts";
import type { ConsoleExchange } from "../handler.ts";
import { readCookie, setCookie } from "./cookies.ts";
import { transportOf, type TransportDeps } from "./transport.ts";

type Account = Pick<MemberRecord, "memberId" | "passwordHash">;

/** Browsers that signed in to an account before, so that guesses from elsewhere do not keep its owner out. */
export interface KnownBrowsers {
  /** Tells the browser from others where it signed in to the account with its present password. */
  idOf(exchange: ConsoleExchange, account: Account | undefined): string | undefined;
  /** Sets a cookie that proves the sign-in later. It is not a session. */
  remember(exchange: ConsoleExchange, account: Account): void;
}

/** The longest time that browsers keep a cookie. */
const LIFE_SECONDS = 400 * 86_400;
/** Accounts that one browser is known for. */
const MOST = 4;

/**
 * A cookie holds an id and its signature for each account. The key of a signature is the hash of the account's password: nothing
 * is stored, every replica can check it, and another password voids it.
 */
export function createKnownBrowsers(deps: TransportDeps): KnownBrowsers {
  function tokensOf(exchange: ConsoleExchange): string[] {
    const transport = transportOf(exchange, deps);
    const cookie = transport && readCookie(exchange, transport, "known");
    return cookie === undefined ? [] : cookie.split("~").slice(0, MOST);
  }

  return {
    idOf(exchange, account) {
      const token = account && tokensOf(exchange).find((one) => isOf(account, one));
      return token?.split(".")[0];
    },

    remember(exchange, account) {
      const transport = transportOf(exchange, deps);
      if (!transport || account.passwordHash === null) return;
      const id = randomBase62(22);
      const others = tokensOf(exchange).filter((one) => !isOf(account, one));
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
