import { Resolver } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Networks } from "./networks.ts";

/** Bytes of a response that are read, so that the receiver can end it in the usual way. They are not kept. */
const RESPONSE_BYTES = 65_536;
const RESOLVE = { timeout: 2_000, tries: 2 };

/** Finds the addresses of a host. An empty list for an unknown host. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

/** A request that was not sent, or has no response. The message is for members of the organisation. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

interface Options {
  headers: Record<string, string>;
  body: string;
  networks: Networks;
  resolve?: Resolve;
  signal: AbortSignal;
}

/**
 * Posts once and returns the status. Follows no redirect. The host is resolved here, each of its addresses is checked, and the
 * connection uses these addresses only: a second resolution could give others.
 */
export async function post(address: string, options: Options): Promise<number> {
  const { headers, body, networks, resolve = resolveHost, signal } = options;
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) > 0 ? [host] : await untilAborted(resolve(host, signal), signal);
  check(url, addresses, networks);
  const found = addresses.map((one) => ({ address: one, family: isIP(one) }));
  const lookup: LookupFunction = (_host, { all }, done) =>
    all ? done(null, found) : done(null, found[0]!.address, found[0]!.family);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  // A connection of its own: one that is kept open for a host could outlive a change of what is allowed.
  const request = send(url, { method: "POST", headers, lookup, agent: false, signal });
  const response = await responseTo(request, body);
  await readSome(response);
  return response.statusCode ?? 0;
}

/** Addresses in named networks may be sent to without TLS. A host with one address that is not allowed is refused. */
function check({ protocol }: URL, addresses: readonly string[], { isNamed, isPublic }: Networks): void {
  if (addresses.length === 0) throw new NotSent("The host has no address.");
  for (const address of addresses) {
    if (isNamed(address)) continue;
    if (!isPublic(address))
      throw new NotSent("The host has an address in a private or reserved network that the operator has not allowed.");
    if (protocol !== "https:") throw new NotSent("The address must begin with https://.");
  }
}

/**
 * Asks the name servers. The resolver of the system would do so in the few threads that Node has for it, where the slow domain of
 * one receiver delays every other name.
 */
async function resolveHost(host: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver(RESOLVE);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener("abort", abort));
}

function responseTo(request: ClientRequest, body: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // For a response that switches protocols, Node reports neither a response nor an error.
  const closed = () => reject(new NotSent("The receiver closed the connection without a response."));
  request.on("response", resolve).on("error", reject).on("close", closed).end(body);
  return promise;
}

/** The status is known: that the rest breaks off, or takes too long, does not matter. */
async function readSome(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) if ((bytes += chunk.length) > RESPONSE_BYTES) return;
  } catch {
    response.destroy();
  }
}
