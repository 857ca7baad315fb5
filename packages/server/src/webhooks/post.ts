import { Resolver } from "node:dns/promises";
import { addAbortListener } from "node:events";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isOutOfFiles, trueCause } from "@patchbay/engine/ports/open-files";
import { untilAborted } from "@patchbay/engine/ports/until-aborted";
import type { Networks } from "./networks.ts";

/** Response bytes to read, so that the receiver can end it normally. They are not kept. */
const RESPONSE_BYTES = 65_536;
const RESOLVE = { timeout: 2_000, tries: 2 };

/** Resolves a host's addresses; an empty list for an unknown host. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

/** A request that was not sent, or has no response. The message is for the organisation's members. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

interface Options {
  headers: Record<string, string>;
  body: string;
  networks: Networks;
  /** The webhook's organisation. */
  orgId?: string;
  /** Called before connecting: true if the address is in a network that the operator has named. */
  reached?: (isNamed: boolean) => void;
  resolve?: Resolve;
  signal: AbortSignal;
}

/**
 * Posts once and returns the status. Follows no redirect. Resolves the host itself, checks each address, and connects
 * to these addresses only: a second resolution could return others.
 */
export async function post(address: string, options: Options): Promise<number> {
  const { headers, body, resolve = resolveHost, signal } = options;
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) > 0 ? [host] : await untilAborted(resolve(host, signal), signal);
  const isNamed = check(url, addresses, options);
  options.reached?.(isNamed);
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, { all }, done) =>
    all ? done(null, found) : done(null, found[0]!.address, found[0]!.family);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  // A separate connection: one kept open for a host could outlive a change in what is allowed.
  const request = send(url, { method: "POST", headers, lookup, agent: false, signal });
  const response = await responseTo(request, body);
  await readSome(response);
  return response.statusCode ?? 0;
}

/** Addresses in named networks need no TLS. One forbidden address refuses a host. True if one is in a named network. */
function check({ protocol, port }: URL, addresses: readonly string[], { networks, orgId }: Options): boolean {
  if (addresses.length === 0) throw new NotSent("The host has no address.");
  const to = { orgId, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
  const others = addresses.filter((address) => !networks.isNamed(address, to));
  if (!others.every(networks.isPublic))
    throw new NotSent(
      "The host has an address in a private or reserved network that the operator has not allowed for this organisation and port.",
    );
  if (others.length > 0 && protocol !== "https:") throw new NotSent("The address must begin with https://.");
  return others.length < addresses.length;
}

/**
 * Queries the name servers. The system's resolver would use Node's few threads for it, where one receiver's slow domain
 * delays all other names.
 */
async function resolveHost(host: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver(RESOLVE);
  using _ = addAbortListener(signal, () => resolver.cancel());
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const failed = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  const cause = failed.length === answers.length ? await trueCause(failed[0]) : undefined;
  if (isOutOfFiles(cause)) throw cause;
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}

function responseTo(request: ClientRequest, body: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // For a response that switches protocols, Node reports neither a response nor an error.
  const closed = () => reject(new NotSent("The receiver closed the connection without a response."));
  request.on("response", resolve).on("error", reject).on("close", closed).end(body);
  return promise;
}

/** The status is known: whether the rest is cut off or slow does not matter. */
async function readSome(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) if ((bytes += chunk.length) > RESPONSE_BYTES) return;
  } catch {
    response.destroy();
  }
}
