import { BlockList, isIP, type Socket } from "node:net";
import { isLoopback } from "@patchbay/kit";
import type { ClientOptions } from "ws";
import type { ProxyVariables } from "../config.ts";

/** The proxy for a runtime's connections. */
export interface Proxy {
  /** The address without credentials, for the log. */
  readonly shown: string;
  /** The option or the variable that names it. */
  readonly from: string;
  /** Loads the library that connects through it: most runtimes have no proxy. */
  load(): Promise<Tunnel>;
}

/** Options for one WebSocket through the proxy. */
export type Tunnel = (attempt: {
  /** Closes the connection to a proxy that has not answered. */
  signal: AbortSignal;
  /** Called with the status from a proxy that does not connect. */
  refused: (status: number) => void;
}) => Pick<ClientOptions, "agent" | "finishRequest">;

/**
 * The proxy to reach `address` (ws: or wss:) through; undefined without one. `option` decides if it is given.
 * Otherwise, as RFC 6455 section 4.1 advises, HTTPS_PROXY comes before HTTP_PROXY also for an address without TLS.
 * Throws a `TypeError` for an address that is not an HTTP or HTTPS proxy's.
 */
export function proxyFor(
  address: string,
  option: string | false | undefined,
  { https, http, all, no = "" }: ProxyVariables,
): Proxy | undefined {
  if (option === false) return undefined;
  const target = new URL(address);
  if (option !== undefined) return proxyAt(option, "proxy");
  const plain = target.protocol === "ws:" ? http : undefined;
  const [from, named] = https ? ["HTTPS_PROXY", https] : plain ? ["HTTP_PROXY", plain] : ["ALL_PROXY", all];
  if (named === undefined || isExcepted(target, no)) return undefined;
  // A proxy on another machine would connect to itself.
  if (isLoopback(target.hostname) && !isLoopback(parseProxy(named, from).hostname)) return undefined;
  return proxyAt(named, from);
}

function proxyAt(text: string, from: string): Proxy {
  const url = parseProxy(text, from);
  return {
    shown: `${url.protocol}//${url.host}`,
    from,
    async load() {
      const { HttpsProxyAgent } = await import("https-proxy-agent");
      return ({ signal, refused }) => ({
        agent: new HttpsProxyAgent(url, { signal }),
        finishRequest(request) {
          request.on("proxyConnect", ({ statusCode }: { statusCode: number }) => {
            if (statusCode !== 200) refused(statusCode);
          });
          // Closing an abandoned connection causes a socket error.
          request.on("proxy", ({ socket }: { socket: Socket }) => socket.on("error", () => {}));
          request.end();
        },
      });
    },
  };
}

function parseProxy(text: string, from: string): URL {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url && /^https?:$/.test(url.protocol) && isDecodable(url)) return url;
  const shown = text.replace(/^(.*:\/\/)?.*@/s, "$1***@");
  throw new TypeError(
    `connect: ${from} is "${shown}", which is not the address of an HTTP or HTTPS proxy. Give one like http://proxy.example:3128.`,
  );
}

/** False for credentials with a % that encodes nothing: it must be written as %25. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/**
 * True if a NO_PROXY entry names the host: itself or a domain above it, with or without a leading dot or `*.`; an IP
 * address or a range in CIDR notation; each also with a port. `*` names every host. Host names are not resolved.
 */
function isExcepted({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replaceAll(/^\[|\]$|\.$/g, "");
  const actualPort = port || (protocol === "wss:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const [, name = entry, entryPort] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
      return (entryPort === undefined || entryPort === actualPort) && names(name.replaceAll(/^\[|\]$/g, ""), host);
    });
}

function names(entry: string, host: string): boolean {
  if (entry === "*") return true;
  const family = familyOf(host);
  if (family === undefined) {
    const domain = entry.replace(/^\*?\./, "").replace(/\.$/, "");
    return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
  }
  const [, network = entry, prefix] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
  const range = new BlockList();
  const rangeFamily = familyOf(network);
  if (rangeFamily === undefined) return false;
  const longest = rangeFamily === "ipv4" ? 32 : 128;
  const bits = prefix === undefined ? longest : Number(prefix);
  if (bits > longest) return false;
  range.addSubnet(network, bits, rangeFamily);
  return range.check(host, family);
}

const familyOf = (address: string): "ipv4" | "ipv6" | undefined =>
  ({ 4: "ipv4", 6: "ipv6" } as const)[isIP(address) as 4 | 6];
