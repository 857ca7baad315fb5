import { BlockList, isIP, type IPVersion } from "node:net";

/**
 * Networks outside the public Internet, from the IANA special-purpose address registries, plus Azure's machine metadata
 * address. The metadata services of other clouds are in private and link-local networks.
 */
const RESERVED = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "168.63.129.16",
  // Inside 2000::/3; 2002::/16 and parts of 2001::/23 contain IPv4 addresses from any network.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];
/** Global unicast. All other IPv6 is private, link-local, multicast, or an IPv4 address in another form. */
const GLOBAL6 = ["2000::/3"];

/** The intended use of an address. */
interface Use {
  /** The webhook's organisation. */
  orgId?: string | undefined;
  port?: number;
}

/** A named network. Without `orgId` it is for all organisations, without `ports` for all ports. */
interface Rule {
  orgId?: string;
  ports?: number[];
  list: BlockList;
}

/**
 * Which addresses may receive deliveries. `named`: private networks that may receive deliveries, such as `10.1.0.0/16`, `127.0.0.1` or `fd00::/8`.
 * `org_1=10.1.0.0/16:443,8443` is for one organisation and these ports; an IPv6 network with ports is in brackets.
 * Throws for any other text.
 */
export function createNetworks(named: readonly string[] = []) {
  const rules = rulesOf(named);
  const [reserved, global6] = [blockList(RESERVED), blockList(GLOBAL6)];
  return {
    /** True for an address in a network that the operator has named, for this organisation and port or for all. */
    isNamed: (address: string, use?: Use): boolean =>
      rules.some(
        ({ orgId = use?.orgId, ports, list }) =>
          orgId === use?.orgId && (ports?.some((port) => port === use?.port) ?? true) && contains(list, address),
      ),
    /** True for a public Internet address. */
    isPublic: (address: string): boolean =>
      !contains(reserved, address) && (isIP(address) === 4 || contains(global6, address)),
  };
}

export type Networks = ReturnType<typeof createNetworks>;

const contains = (list: BlockList, address: string): boolean => list.check(address, versionOf(address));

const versionOf = (address: string): IPVersion => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** A port list has the same separator as the networks: a number continues it. */
function rulesOf(named: readonly string[]): Rule[] {
  const rules: Rule[] = [];
  for (const text of named.flatMap((list) => list.split(","))) {
    const last = rules.at(-1);
    if (last?.ports && /^\d+$/.test(text)) last.ports.push(parsePort(text));
    else rules.push(parseRule(text));
  }
  return rules;
}

function parseRule(text: string): Rule {
  const [, orgId, rest = text] = /^([\w-]+)=(.*)$/.exec(text) ?? [];
  const [, network = rest, port] = /^\[([^\]]*)\](?::(.*))?$/.exec(rest) ?? /^([^:]*):([^:]*)$/.exec(rest) ?? [];
  return {
    list: blockList([network]),
    ...(orgId !== undefined && { orgId }),
    ...(port !== undefined && { ports: [parsePort(port)] }),
  };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port > 0 && port < 65_536) return port;
  throw new Error(`"${text}" is not a port. List the ports of a network after a colon, such as 10.0.0.0/8:443,8443.`);
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits, ...rest] = network.split("/");
    const most = isIP(address) === 6 ? 128 : 32;
    const length = bits === undefined ? most : Number(bits);
    if (isIP(address) === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || length > most)
      throw new Error(
        `${network} is not a network. Name an address, such as 127.0.0.1, or a range, such as 10.0.0.0/8, or for one organisation and some ports org_1=10.0.0.0/8:443,8443.`,
      );
    list.addSubnet(address, length, versionOf(address));
  }
  return list;
}
