import type { Exchange } from "../../http/deps.ts";
import { ConsoleError } from "../console-error.ts";
import { transportOf, type TransportDeps } from "./transport.ts";

/** Refuses what another site's page makes a browser send. */
export function requireSameOrigin(exchange: Exchange, deps: TransportDeps): void {
  const { c } = exchange;
  const site = c.req.header("Sec-Fetch-Site");
  const origin = c.req.header("Origin");
  const same = site === undefined ? isOwn(exchange, origin, deps) : site === "same-origin";
  if (same) return;
  throw new ConsoleError(
    "csrf_refused",
    "Only pages of this service may ask for this. A program sends the header Origin with the service's own address.",
  );
}

function isOwn(exchange: Exchange, origin: string | undefined, deps: TransportDeps): boolean {
  return origin !== undefined && origin === transportOf(exchange, deps)?.origin;
}
