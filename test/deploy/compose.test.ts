import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { BlockList } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { runCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { hasNatsServer } from "@patchbay/test-support/nats";
import { withSystemPath } from "@patchbay/test-support/system-path";

interface Service {
  image: string;
  build?: { context: string; dockerfile: string; target: string; args: Record<string, string> };
  entrypoint?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  volumes?: (string | Bind)[];
  networks: string[] | Record<string, { ipv4_address?: string }>;
  extra_hosts?: string[];
  healthcheck?: object;
  restart: string;
  stop_grace_period: string;
  deploy: { resources: { limits: { cpus: string; memory: string } } };
}

interface Bind {
  type: string;
  source: string;
  target: string;
  read_only: boolean;
  bind: { create_host_path: boolean };
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
    if (typeof volume !== "string") continue;
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
  const read = ["config.ts", "log.ts", "secret-files.ts"].map((file) =>
    readFileSync(new URL(`../../packages/cli/src/${file}`, import.meta.url), "utf8"),
  );
  for (const [name, { environment = {} }] of services) {
    const known = `${name === "functions" ? options.connect : options.serve} ${read.join(" ")}`;
    for (const variable of Object.keys(environment).filter((key) => key.startsWith("PATCHBAY_")))
      expect(known, `${variable} of ${name}`).toMatch(new RegExp(`\\b${variable.replace(/_FILE$/, "")}\\b`));
  }
});

test("the example of .env names exactly the variables that are read, and has no secret", () => {
  const read = [...text.matchAll(/(?<!\$)\$\{(\w+)(?=[:}])/g)].map(([, name]) => name);
  const example = [...readFileSync(at(".env.example"), "utf8").matchAll(/^#?(\w+)=(.*)$/gm)];
  expect(new Set(example.map(([, name]) => name))).toEqual(new Set(read));
  for (const [, name = "", value] of example)
    if (name.endsWith("_FILE")) expect(value).toMatch(/^\/run\/secrets\/patchbay\/[a-z-]+$/);
    else expect(name).not.toMatch(/PASSWORD|SECRET|TOKEN|KEY/);
});

test("the base and every image can be named by digest; the defaults are those of the example and the Dockerfile", () => {
  const example = readFileSync(at(".env.example"), "utf8");
  for (const [name, { image, build }] of services) {
    const [, variable = "", preset = ""] = /^\$\{(\w+):-(.+)\}$/.exec(build ? (build.args["BASE"] ?? "") : image) ?? [];
    expect(example, name).toContain(`\n${variable}=${preset}\n`);
    if (build) expect(readFileSync(at("Dockerfile"), "utf8")).toContain(`\nARG ${variable}=${preset}\n`);
  }
});

describe("secrets", () => {
  const make = (folder: string) =>
    spawnSync(fileURLToPath(at("make-secrets.sh")), [folder], { encoding: "utf8" }).status;
  const [passwords, keys] = [["database", "nats"], ["runtime-key"]];

  test("are files of a folder of each service, which must exist, and never variables", async () => {
    await using temporary = await temporaryFolder();
    const folder = join(temporary.path, "secrets");
    expect(make(folder)).toBe(0);
    const shared = new Set<string>();
    for (const [name, { environment = {}, volumes = [] }] of services) {
      expect(
        Object.keys(environment).filter((key) => /(PASSWORD|KEY|DATABASE|NATS|TOKEN)$/.test(key)),
        name,
      ).toEqual([]);
      const files = Object.values(environment).filter((value) => value.startsWith("/run/secrets/"));
      const binds = volumes.filter((volume) => typeof volume !== "string");
      expect(binds.length, name).toBe(name === "nginx" ? 0 : 1);
      for (const bind of binds) {
        expect(bind).toMatchObject({ type: "bind", target: "/run/secrets/patchbay", read_only: true });
        expect(bind.bind).toEqual({ create_host_path: false });
        const source = bind.source.replace("./secrets", folder);
        expect(existsSync(source), bind.source).toBe(true);
        shared.add(bind.source);
        for (const file of files.filter((path) => !keys.some((key) => path.endsWith(key))))
          expect(existsSync(file.replace(bind.target, source)), `${file} of ${name}`).toBe(true);
      }
    }
    expect(shared.size, "both replicas share one").toBe(4);
  });

  test("are random, only for their owner, and never overwritten; addresses contain the passwords of their servers", async () => {
    await using temporary = await temporaryFolder();
    const [first, second] = [join(temporary.path, "first"), join(temporary.path, "second")];
    expect([make(first), make(second)]).toEqual([0, 0]);
    expect(statSync(first).mode & 0o777).toBe(0o700);
    const read = (folder: string, name: string) => readFileSync(join(folder, name), "utf8");
    for (const name of ["postgres/superuser-password", "postgres/database-password", "nats/password"]) {
      expect(read(first, name)).toMatch(/^[0-9a-f]{48}$/);
      expect(read(first, name)).not.toBe(read(second, name));
    }
    const before = passwords.map((name) => read(first, `replica/${name}`));
    expect(before.map((address) => new URL(address).password)).toEqual([
      read(first, "postgres/database-password"),
      read(first, "nats/password"),
    ]);
    expect(make(first)).not.toBe(0);
    expect(passwords.map((name) => read(first, `replica/${name}`))).toEqual(before);
  });

  test.runIf(hasNatsServer())("NATS starts with the password of its file as a text, and not without it", async () => {
    await using temporary = await temporaryFolder();
    const [shell = "", flags = "", script = ""] = compose.services["nats"]!.entrypoint!;
    const here = script
      .replaceAll("$$", "$")
      .replace("/run/secrets/patchbay", temporary.path)
      .replace("/etc/nats/nats.conf", `${fileURLToPath(at("nats.conf"))} -t`);
    const run = () => spawnSync(shell, [flags, here], { encoding: "utf8", env: withSystemPath() });
    const file = join(temporary.path, "password");
    expect(run()).toMatchObject({
      status: expect.toSatisfy((code) => code !== 0),
      stderr: expect.stringContaining(file),
    });
    writeFileSync(file, "");
    expect(run()).toMatchObject({
      status: expect.toSatisfy((code) => code !== 0),
      stderr: expect.stringContaining("is empty"),
    });
    writeFileSync(file, "0123456");
    expect(run()).toMatchObject({ status: 0, stderr: expect.stringContaining("is valid") });
  });
});

function within(range: string, address: string): boolean {
  const [network = "", bits] = range.split("/");
  const list = new BlockList();
  list.addSubnet(network, Number(bits));
  return list.check(address);
}
