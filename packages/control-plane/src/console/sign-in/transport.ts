import { isIPv6 } from "node:net";
import type { Exchange, HttpDeps } from "../../http/deps.ts";
import { ServiceError } from "../../ports/service-error.ts";

/** How a request came: over https, or over plain http from this machine alone. */
export interface Transport {
  secure: boolean;
  /** Where the browser believes to be. */
  origin: string;
}

export type TransportDeps = Pick<HttpDeps, "publicUrl" | "trustProxy">;

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** Undefined where a cookie would cross a network in clear text. */
export function transportOf({ c }: Exchange, { publicUrl, trustProxy }: TransportDeps): Transport | undefined {
  const forwarded = (name: string) => (trustProxy ? c.req.header(name)?.split(",")[0]?.trim() : undefined);
  const host = forwarded("X-Forwarded-Host") ?? c.req.header("Host") ?? "";
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (own?.protocol === "https:") return { secure: true, origin: own.origin };
  if (forwarded("X-Forwarded-Proto") === "https") return { secure: true, origin: `https://${host}` };
  if (LOOPBACK.test(host.replace(/:\d+$/, ""))) return { secure: false, origin: `http://${host}` };
  return undefined;
}

/** As `transportOf`, for what would set a cookie. */
export function requireTransport(exchange: Exchange, deps: TransportDeps): Transport {
  const transport = transportOf(exchange, deps);
  if (transport) return transport;
  throw new ServiceError(
    "invalid_request",
    "Signing in needs https: the session's cookie would cross the network in clear text. Put a proxy with TLS in front and name its address with --public-url https://..., or use http://localhost on the machine itself.",
  );
}

/**
 * Networks that the client's address is in, narrowest first: an IPv4 address, or the /64, /56 and /48 of an IPv6 address, of
 * which one subscriber may have any.
 */
export function networksOf({ c }: Exchange, { trustProxy }: Pick<TransportDeps, "trustProxy">): string[] {
  // The proxy itself appends the last entry; a client may write any others.
  const forwarded = trustProxy ? c.req.header("X-Forwarded-For")?.split(",").at(-1)?.trim() : undefined;
  const address = (forwarded ?? c.env?.incoming?.socket.remoteAddress ?? "unknown").replace(/^::ffff:/i, "");
  if (!isIPv6(address)) return [address];
  const [first, second, third, fourth = 0] = firstGroups(address);
  const prefix = `${first}:${second}:${third}`;
  return [`${prefix}:${fourth}/64`, `${prefix}:${fourth >> 8}/56`, `${prefix}/48`];
}

/** The first four of the eight groups of an IPv6 address, as numbers. */
function firstGroups(address: string): number[] {
  const [head = "", tail = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => "0");
  return [...groups, ...zeros, ...rest].slice(0, 4).map((group) => Number.parseInt(group, 16));
}
