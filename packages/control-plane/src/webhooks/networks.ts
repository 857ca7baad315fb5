import { BlockList, isIP, type IPVersion } from "node:net";

/**
 * Networks that are not the public Internet, from the IANA special-purpose address registries, with the address at which Azure
 * serves the metadata of a machine. The metadata services of other clouds are in private and link-local networks.
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
  // Inside of 2000::/3; 2002::/16 and parts of 2001::/23 contain IPv4 addresses of any network.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];
/** Global unicast. Everything else of IPv6 is private, link-local, multicast, or an IPv4 address in another form. */
const GLOBAL6 = ["2000::/3"];

/** Which addresses deliveries may be sent to. */
export interface Networks {
  /** True for an address in a network that the operator has named. */
  isNamed(address: string): boolean;
  /** True for an address of the public Internet. */
  isPublic(address: string): boolean;
}

/** `named`: private networks that may be sent to, such as `10.1.0.0/16`, `127.0.0.1` or `fd00::/8`. Throws for any other text. */
export function createNetworks(named: readonly string[] = []): Networks {
  const [allowed, reserved, global6] = [blockList(named), blockList(RESERVED), blockList(GLOBAL6)];
  return {
    isNamed: (address) => contains(allowed, address),
    isPublic: (address) => !contains(reserved, address) && (isIP(address) === 4 || contains(global6, address)),
  };
}

const contains = (list: BlockList, address: string): boolean => list.check(address, versionOf(address));

const versionOf = (address: string): IPVersion => (isIP(address) === 6 ? "ipv6" : "ipv4");

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits, ...rest] = network.split("/");
    const most = isIP(address) === 6 ? 128 : 32;
    const length = bits === undefined ? most : Number(bits);
    if (isIP(address) === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || length > most)
      throw new Error(
        `${network} is not a network. Name an address, such as 127.0.0.1, or a range, such as 10.0.0.0/8.`,
      );
    list.addSubnet(address, length, versionOf(address));
  }
  return list;
}
