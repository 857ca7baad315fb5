import type { ConsoleExchange } from "../handler.ts";
import type { Transport } from "./transport.ts";

/** `known` proves that the browser signed in before. It opens nothing. */
export type CookieName = "session" | "known";

export function readCookie({ c }: ConsoleExchange, transport: Transport, name: CookieName): string | undefined {
  const wanted = `${cookieName(transport, name)}=`;
  const pairs = (c.req.header("Cookie") ?? "").split(";").map((pair) => pair.trim());
  const value = pairs.find((pair) => pair.startsWith(wanted))?.slice(wanted.length);
  return value === "" ? undefined : value;
}

export function setCookie(
  { cookies }: ConsoleExchange,
  transport: Transport,
  { name, value, seconds }: { name: CookieName; value: string; seconds: number },
): void {
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${transport.secure ? "; Secure" : ""}`;
  cookies.push(`${cookieName(transport, name)}=${value}; ${attributes}`);
}

/**
 * Browsers take a `__Host-` cookie only from this very host and over https, so that no other one can plant it. They send cookies
 * to every port of a host: the name distinguishes services on one machine.
 */
function cookieName({ secure, origin }: Transport, name: CookieName): string {
  const service = secure ? "__Host-patchbay" : `patchbay-${/:(\d+)$/.exec(origin)?.[1] ?? "80"}`;
  return name === "session" ? service : `${service}-${name}`;
}
