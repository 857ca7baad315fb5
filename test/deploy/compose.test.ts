import { existsSync, readFileSync } from "node:fs";
import { BlockList } from "node:net";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../../packages/cli/test/support/command.ts";

interface Service {
  image: string;
  build?: { context: string; dockerfile: string; target: string };
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  networks: string[] | Record<string, { ipv4_address?: string }>;
  extra_hosts?: string[];
  healthcheck?: object;
  restart: string;
  stop_grace_period: string;
  deploy: { resources: { limits: { cpus: string; memory: string } } };
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { ipam?: { config: { subnet: string; ip_range: string }[] } }>;
  volumes: Record<string, unknown>;
}

const at = (name: string) => new URL(`../../deploy/${name}`, import.meta.url);
const text = readFileSync(at("compose.yaml"), "utf8");
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);
const addressOf = (name: string) => {
  const { networks } = compose.services[name]!;
  return Array.isArray(networks) ? undefined : networks["edge"]?.ipv4_address;
};
const replicas = Object.keys(compose.services).filter((name) => name.startsWith("replica-"));

test.each(services)("%s refers only to existing services, networks and volumes", (_name, service) => {
  for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
    const other = compose.services[needed];
    expect(other, needed).toBeDefined();
    // A replica's image has its own health check.
    const checked = other?.healthcheck !== undefined || other?.build?.target === "patchbay";
    expect(condition === "service_healthy" && !checked, `${needed} has no health check`).toBe(false);
  }
  for (const volume of service.volumes ?? []) {
    const [source = ""] = volume.split(":");
    expect(source.startsWith("./") ? existsSync(at(source)) : source in compose.volumes, source).toBe(true);
  }
  const { networks } = service;
  for (const network of Array.isArray(networks) ? networks : Object.keys(networks))
    expect(compose.networks).toHaveProperty(network);
  if (service.build) {
    const { context, dockerfile, target } = service.build;
    expect(readFileSync(at(`${context}/${dockerfile}`), "utf8")).toMatch(new RegExp(`^FROM \\S+ AS ${target}$`, "m"));
  }
});

test.each(services)("%s restarts after a crash, has limits, and has time to stop", (_name, service) => {
  expect(service.restart).toBe("unless-stopped");
  expect(service.deploy.resources.limits).toEqual({ cpus: expect.any(String), memory: expect.any(String) });
  const seconds = Number(/^(\d+)s$/.exec(service.stop_grace_period)?.[1]);
  expect(seconds).toBeGreaterThanOrEqual("PATCHBAY_URL" in (service.environment ?? {}) || service.build ? 30 : 10);
});

test("nginx has the address of every replica, and the addresses are reserved", () => {
  const hosts = compose.services["nginx"]!.extra_hosts!.toSorted();
  expect(hosts).toEqual(replicas.map((name) => `${name}:${addressOf(name)}`));
  const upstream = readFileSync(at("nginx.conf"), "utf8").matchAll(/^\s+server (\S+):8787 /gm);
  expect([...upstream].map(([, name]) => name)).toEqual(replicas);

  const { subnet, ip_range } = compose.networks["edge"]!.ipam!.config[0]!;
  for (const name of replicas) {
    expect(within(subnet, addressOf(name)!)).toBe(true);
    expect(within(ip_range, addressOf(name)!)).toBe(false);
  }
});

test("every PATCHBAY_ variable of a service is one that its command reads", async () => {
  const help = async (command: string) => (await runCommand([command, "--help"])).stdout;
  const options = { serve: await help("serve"), connect: await help("connect") };
  const read = ["config.ts", "log.ts"].map((file) =>
    readFileSync(new URL(`../../packages/cli/src/${file}`, import.meta.url), "utf8"),
  );
  for (const [name, { environment = {} }] of services) {
    const known = `${name === "functions" ? options.connect : options.serve} ${read.join(" ")}`;
    for (const variable of Object.keys(environment).filter((key) => key.startsWith("PATCHBAY_")))
      expect(known, `${variable} of ${name}`).toMatch(new RegExp(`\\b${variable}\\b`));
  }
});

test("the example of .env names exactly the variables that are read; secrets have no default", () => {
  const read = [...text.matchAll(/\$\{(\w+)(:\?|:-[^}]*)/g)];
  const example = [...readFileSync(at(".env.example"), "utf8").matchAll(/^(\w+)=(.*)$/gm)];
  expect(new Set(example.map(([, name]) => name))).toEqual(new Set(read.map(([, name]) => name)));
  for (const [, name = "", otherwise] of read) if (/PASSWORD/.test(name)) expect(otherwise, name).toBe(":?");
  for (const [, name = "", value] of example) if (/PASSWORD|KEY/.test(name)) expect(value, name).toBe("");
});

function within(range: string, address: string): boolean {
  const [network = "", bits] = range.split("/");
  const list = new BlockList();
  list.addSubnet(network, Number(bits));
  return list.check(address);
}
