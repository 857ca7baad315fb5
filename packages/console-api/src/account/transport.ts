import { isIPv6 } from "node:net";
import { isLoopback } from "@patchbay/kit";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { HttpDeps } from "@patchbay/server/query/deps";
import { ServiceError } from "@patchbay/engine/ports/service-error";

/** How a request arrived: over https, or over plain http from this machine. */
export interface Transport {
  secure: boolean;
  /** The origin as the browser sees it. */
  origin: string;
}

export type TransportDeps = Pick<HttpDeps, "publicUrl" | "trustProxy">;

/** Undefined when a cookie would cross a network in clear text. */
export function transportOf({ c }: Exchange, { publicUrl, trustProxy }: TransportDeps): Transport | undefined {
  const forwarded = (name: string) => (trustProxy ? c.req.header(name)?.split(",")[0]?.trim() : undefined);
  const host = forwarded("X-Forwarded-Host") ?? c.req.header("Host") ?? "";
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (own?.protocol === "https:") return { secure: true, origin: own.origin };
  if (forwarded("X-Forwarded-Proto") === "https") return { secure: true, origin: `https://${host}` };
  if (isLoopback(host.replace(/:\d+$/, ""))) return { secure: false, origin: `http://${host}` };
  return undefined;
}

/** Like `transportOf`, for requests that set a cookie. */
export function requireTransport(exchange: Exchange, deps: TransportDeps): Transport {
  const transport = transportOf(exchange, deps);
  if (transport) return transport;
  throw new ServiceError(
    "invalid_request",
    "Signing in needs https: the session's cookie would cross the network in clear text. Put a proxy with TLS in front and name its address with --public-url https://..., or use http://localhost on the machine itself.",
  );
}

/**
 * The client's networks, narrowest first: an IPv4 address, or an IPv6 address's /64, /56 and /48, because one
 * subscriber may own any of them.
 */
export function networksOf({ c }: Exchange, { trustProxy }: Pick<TransportDeps, "trustProxy">): string[] {
  // The proxy appends the last entry. The client can write all others.
  const forwarded = trustProxy ? c.req.header("X-Forwarded-For")?.split(",").at(-1)?.trim() : undefined;
  const address = (forwarded ?? c.env?.incoming?.socket.remoteAddress ?? "unknown").replace(/^::ffff:/i, "");
  if (!isIPv6(address)) return [address];
  const [first, second, third, fourth = 0] = firstGroups(address);
  const prefix = `${first}:${second}:${third}`;
  return [`${prefix}:${fourth}/64`, `${prefix}:${fourth >> 8}/56`, `${prefix}/48`];
}

/** An IPv6 address's first four groups (out of eight), as numbers. */
function firstGroups(address: string): number[] {
  const [head = "", tail = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => "0");
  return [...groups, ...zeros, ...rest].slice(0, 4).map((group) => Number.parseInt(group, 16));
}

/** Rejects requests that another site's page makes a browser send. */
export function requireSameOrigin(exchange: Exchange, deps: TransportDeps): void {
  const { c } = exchange;
  const site = c.req.header("Sec-Fetch-Site");
  const origin = c.req.header("Origin");
  const same = site === undefined ? isOwn(exchange, origin, deps) : site === "same-origin";
  if (same) return;
  throw new ServiceError(
    "csrf_refused",
    "Only pages of this service may ask for this. A program sends the header Origin with the service's own address.",
  );
}

function isOwn(exchange: Exchange, origin: string | undefined, deps: TransportDeps): boolean {
  return origin !== undefined && origin === transportOf(exchange, deps)?.origin;
}
