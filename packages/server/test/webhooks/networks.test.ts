import { expect, test } from "vitest";
import { createNetworks } from "../../src/webhooks/networks.ts";

const { isPublic, isNamed } = createNetworks(["10.1.0.0/16", "127.0.0.1", "fd00::/8"]);

test.each([
  "0.0.0.0",
  "10.0.0.1",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.255",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::7f00:1",
  "64:ff9b::a00:1",
  "fe80::1",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "2001::1",
  "2001:db8::1",
  "2002:a00:1::",
  "3fff::1",
  "fec0::1",
])("%s is not an address of the public Internet", (address) => {
  expect(isPublic(address)).toBe(false);
});

test.each(["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "193.0.0.1", "2606:4700::1111", "2a00:1450::1"])(
  "%s is one",
  (address) => {
    expect(isPublic(address)).toBe(true);
  },
);

test("networks are named by a range or by one address", () => {
  const named = ["10.1.2.3", "127.0.0.1", "fd12::1"];
  expect(named.filter((address) => !isNamed(address))).toEqual([]);
  expect(["10.2.0.1", "127.0.0.2", "fe80::1", "8.8.8.8"].filter((address) => isNamed(address))).toEqual([]);
});

test("a network is named for one organisation, for some ports, or for both", () => {
  // As the command line splits a list.
  const named = [
    "org_1=10.0.0.0/8:443",
    "8443",
    "10.1.0.0/16:80",
    "org_2=192.168.0.0/16",
    "org_1=[fd00::/8]:443",
    "[::1]",
  ];
  const { isNamed } = createNetworks(named);
  const allowed = (address: string, port: number) =>
    ["org_1", "org_2", "org_3"].filter((orgId) => isNamed(address, { orgId, port }));

  expect(allowed("10.2.0.1", 443)).toEqual(["org_1"]);
  expect(allowed("10.2.0.1", 8443)).toEqual(["org_1"]);
  expect(allowed("10.2.0.1", 80)).toEqual([]);
  expect(allowed("10.1.0.1", 80)).toEqual(["org_1", "org_2", "org_3"]);
  expect(allowed("192.168.0.1", 1)).toEqual(["org_2"]);
  expect(allowed("fd00::1", 443)).toEqual(["org_1"]);
  expect(allowed("fd00::1", 8443)).toEqual([]);
  expect(allowed("::1", 1)).toEqual(["org_1", "org_2", "org_3"]);
  expect(isNamed("10.2.0.1")).toBe(false);
  expect(createNetworks([named.join(",")]).isNamed("10.2.0.1", { orgId: "org_1", port: 8443 })).toBe(true);
});

test.each(["10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.0/8:", "10.0.0.0/8:https", "org_1=[fd00::/8]:443x"])(
  "%s is refused for its port",
  (text) => {
    expect(() => createNetworks([text])).toThrow("is not a port");
  },
);

test.each(["=10.0.0.0/8", "org 1=10.0.0.0/8", "fd00::/8:443", "8443", "org_1=", "[10.0.0.0/8"])(
  "%s is refused as a rule",
  (text) => {
    expect(() => createNetworks([text])).toThrow("is not a network");
  },
);

test.each(["10.0.0.0/33", "10.0.0/8", "localhost", "", "10.0.0.0/8/8", "10.0.0.0/", "::1/129", "10.0.0.0/-1"])(
  "%s is refused as a network",
  (text) => {
    expect(() => createNetworks([text])).toThrow("is not a network");
  },
);
