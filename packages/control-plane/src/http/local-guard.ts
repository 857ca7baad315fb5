import { ServiceError } from "../ports/service-error.ts";
import type { Exchange, HttpDeps } from "./deps.ts";

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

type Guarded = Pick<HttpDeps, "host" | "publicUrl" | "corsOrigins">;

/**
 * Keeps web pages away from the local variant. On a loopback address the Host header must name this machine, for a page can
 * point a name of its own at 127.0.0.1; and a page of another origin is refused unless that origin is allowed.
 */
export function guardLocal({ c }: Exchange, { host, publicUrl, corsOrigins }: Guarded): void {
  const asked = c.req.header("Host") ?? "";
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  const bound = host ?? "127.0.0.1";
  const name = hostname(asked);
  if (LOOPBACK.test(bound) && !LOOPBACK.test(name) && name !== bound && name !== own?.hostname)
    throw new ServiceError(
      "invalid_request",
      `The Host ${quoted(asked)} is not served. The local variant answers to localhost; start the server with --host to serve another name.`,
    );

  const origin = c.req.header("Origin");
  if (origin === undefined || corsOrigins.includes(origin) || corsOrigins.includes("*")) return;
  if (origin === own?.origin || origin === `http://${asked}` || origin === `https://${asked}`) return;
  throw new ServiceError(
    "invalid_request",
    `Pages of the origin ${quoted(origin)} may not use the local variant. Start the server with --cors-origin ORIGIN to allow them.`,
  );
}

const quoted = (header: string): string => JSON.stringify(header.slice(0, 200));

function hostname(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}
