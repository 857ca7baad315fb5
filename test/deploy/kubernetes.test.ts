import { readFileSync } from "node:fs";
import { BlockList, isIPv6 } from "node:net";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { SECRETS } from "@patchbay/cli/secret-files";
import { runCommand } from "../../packages/cli/test/support/command.ts";
import { ROUTES } from "@patchbay/server/query/routes";

type Labels = Record<string, string>;

interface Selector {
  matchLabels: Labels;
}

interface Deployment {
  spec: {
    replicas: number;
    selector: Selector;
    template: { metadata: { labels: Labels; annotations?: Labels }; spec: Pod };
  };
}

interface Pod {
  terminationGracePeriodSeconds: number;
  automountServiceAccountToken: boolean;
  securityContext: object;
  containers: Container[];
  volumes: { name: string; secret?: { items: { key: string; path: string }[] } }[];
}

interface Container {
  args: string[];
  ports: { name: string; containerPort: number }[];
  env: { name: string; value: string }[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  resources: Record<"requests" | "limits", { cpu: string; memory: string }>;
  securityContext: object;
  lifecycle?: object;
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
}

interface Service {
  metadata: { name: string; namespace: string };
  spec: { selector: Labels; ports: { name: string; targetPort: string }[] };
}

interface Ingress {
  metadata: { name: string; annotations: Labels };
  spec: { tls: object[]; rules: { host: string; http: { paths: { path: string; backend: { service: object } }[] } }[] };
}

interface Peer {
  namespaceSelector?: Selector;
  podSelector?: Selector;
  ipBlock?: { cidr: string; except: string[] };
}

interface Policy {
  spec: {
    podSelector: Selector;
    policyTypes: string[];
    ingress: { from: Peer[]; ports: object[] }[];
    egress: { to: Peer[]; ports: object[] }[];
  };
}

const read = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), "utf8");

function manifestsOf(name: string) {
  const text = read(name);
  const all = parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as { kind: string; metadata: { namespace: string } };
  });
  const ofKind = (kind: string): unknown => all.find((manifest) => manifest.kind === kind);
  const deployment = ofKind("Deployment") as Deployment;
  const { spec: policy } = ofKind("NetworkPolicy") as Policy;
  const [container] = deployment.spec.template.spec.containers;
  return { text, all, ofKind, deployment, policy, pod: deployment.spec.template.spec, container: container! };
}

const plane = manifestsOf("kubernetes.yaml");
const functions = manifestsOf("kubernetes-functions.yaml");
const service = plane.ofKind("Service") as Service;

const namespace = (name: string): Selector => ({ matchLabels: { "kubernetes.io/metadata.name": name } });
const named = (name: string): Selector => ({ matchLabels: { "app.kubernetes.io/name": name } });
const tcp = (port: number | string) => ({ protocol: "TCP", port });
const DNS = {
  to: [{ namespaceSelector: namespace("kube-system"), podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }],
  ports: [{ protocol: "UDP", port: 53 }, tcp(53)],
};

describe.each([
  ["patchbay", "serve", plane],
  ["patchbay-functions", "connect", functions],
] as const)("%s", (name, command, { text, all, ofKind, deployment, policy, pod, container }) => {
  test("all selectors match its pods, and a disruption leaves one of them", () => {
    const { spec } = ofKind("PodDisruptionBudget") as { spec: { minAvailable: number; selector: Selector } };
    expect(deployment.spec.template.metadata.labels).toEqual(named(name).matchLabels);
    for (const selector of [deployment.spec.selector, spec.selector, policy.podSelector])
      expect(selector).toEqual(named(name));
    expect(new Set(all.map(({ metadata }) => metadata.namespace))).toEqual(new Set([name]));
    expect([deployment.spec.replicas, spec.minAvailable]).toEqual([2, 1]);
  });

  test("it runs as a plain user without privileges, and writes only to its volumes", () => {
    const id = 1000;
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: id,
      runAsGroup: id,
      fsGroup: id,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.containers).toEqual([container]);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.volumeMounts.map((mount) => mount.name)).toEqual(pod.volumes.map((volume) => volume.name));
  });

  test("it has requests and limits, and time for the 25 s of its drain, which begins immediately", () => {
    for (const kind of ["requests", "limits"] as const)
      expect(container.resources[kind]).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
    expect(pod.terminationGracePeriodSeconds).toBe(30);
    expect(container.lifecycle).toBeUndefined();
    expect(container.args[0]).toBe(command);
  });

  test.each([
    ["startupProbe", "/healthz"],
    ["livenessProbe", "/healthz"],
    ["readinessProbe", "/readyz"],
  ] as const)("its %s requests %s", (probe, path) => {
    const open = ROUTES.filter(({ access }) => access === "open").map((route) => route.path);
    expect(open).toContain(path);
    expect(container[probe]!.httpGet).toEqual({ path, port: container.ports[0]!.name });
  });

  test("its secrets are files, and it does not start without one of them", () => {
    const volume = pod.volumes.find((one) => one.name === "secrets")!;
    // Without `optional`, a missing secret or key keeps the pod from starting, with an event that names it.
    expect(volume.secret).toEqual({ secretName: name, defaultMode: 0o440, items: expect.any(Array) });
    const { items } = volume.secret!;
    const { mountPath, readOnly } = container.volumeMounts.find((mount) => mount.name === "secrets")!;
    expect(readOnly).toBe(true);
    const files = container.env.filter((variable) => variable.name.endsWith("_FILE"));
    expect(files.map(({ value }) => value)).toEqual(items.map(({ path }) => `${mountPath}/${path}`));
    for (const variable of files) expect(SECRETS).toContain(variable.name.slice(0, -"_FILE".length));
    // The comment at the top of the file says where each of them comes from.
    for (const { key } of items) expect(text).toMatch(new RegExp(`^#.*\\b${key}\\b`, "m"));
  });

  test("its variables are those of its command, and hold no secret", async () => {
    const { stdout } = await runCommand([command, "--help"]);
    const known: string[] = [...(stdout.match(/\bPATCHBAY_\w+/g) ?? []), ...SECRETS];
    for (const variable of container.env) {
      expect(known).toContain(variable.name.replace(/_FILE$/, ""));
      expect(SECRETS).not.toContain(variable.name);
    }
    expect(container).not.toHaveProperty("envFrom");
    expect(all.map(({ kind }) => kind)).not.toContain("Secret");
  });
});

describe("network policies", () => {
  test("the ingress and runtimes reach the control plane, and the monitoring only its metrics", () => {
    expect(plane.policy.policyTypes).toEqual(["Ingress", "Egress"]);
    expect(plane.policy.ingress).toEqual([
      {
        from: [
          { namespaceSelector: namespace("ingress-nginx") },
          { namespaceSelector: namespace("patchbay-functions"), podSelector: named("patchbay-functions") },
        ],
        ports: [tcp("http")],
      },
      { from: [{ namespaceSelector: namespace("monitoring") }], ports: [tcp("metrics")] },
    ]);
    expect(plane.container.ports).toEqual([
      { name: "http", containerPort: 8787 },
      { name: "metrics", containerPort: 9464 },
    ]);
    expect(plane.container.env).toContainEqual({ name: "PATCHBAY_METRICS_PORT", value: "9464" });
    const { annotations } = plane.deployment.spec.template.metadata;
    expect(annotations).toMatchObject({ "prometheus.io/port": "9464" });
  });

  test("the control plane reaches only DNS, Postgres, NATS, and the internet by 443", () => {
    const [dns, postgres, nats, internet, ...others] = plane.policy.egress;
    expect([dns, postgres, nats, others]).toEqual([
      DNS,
      { to: [{ podSelector: named("postgresql") }], ports: [tcp(5432)] },
      { to: [{ podSelector: named("nats") }], ports: [tcp(4222)] },
      [],
    ]);
    expect(internet!.ports).toEqual([tcp(443)]);
    const reached = (address: string) =>
      internet!.to.some(({ ipBlock }) => within([ipBlock!.cidr], address) && !within(ipBlock!.except, address));
    const outside = ["1.1.1.1", "172.32.0.1", "2606:4700::1"];
    const inside = ["10.96.0.1", "172.20.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "fd00::1", "fe80::1"];
    expect([...outside, ...inside].filter(reached)).toEqual(outside);
  });

  test("nothing reaches a runtime, and it reaches only DNS and the control plane", () => {
    expect(functions.policy).toMatchObject({ policyTypes: ["Ingress", "Egress"], ingress: [] });
    expect(functions.policy.egress).toEqual([
      DNS,
      { to: [{ namespaceSelector: namespace("patchbay"), podSelector: named("patchbay") }], ports: [tcp(8787)] },
    ]);
  });
});

test("runtimes connect to the service, as the agent and with the key of its first start", () => {
  const valueOf = ({ container }: typeof plane, name: string) =>
    container.env.find((variable) => variable.name === name)!.value;
  const { name, namespace: home } = service.metadata;
  expect(valueOf(functions, "PATCHBAY_URL")).toBe(`http://${name}.${home}.svc`);
  expect(valueOf(functions, "PATCHBAY_AGENT")).toBe(valueOf(plane, "PATCHBAY_INIT_AGENT_ID"));
  expect(functions.text).toContain("--from-file=runtime-key=secrets/init-runtime-key");
  expect(service.spec.selector).toEqual(named("patchbay").matchLabels);
  expect(service.spec.ports).toMatchObject([{ targetPort: plane.container.ports[0]!.name }]);
});

const [ingress, signIn, ...others] = plane.all.filter(({ kind }) => kind === "Ingress") as unknown as Ingress[];
const nginx = read("nginx.conf");
const prefix = "nginx.ingress.kubernetes.io/";

test("the ingress has the paths of nginx.conf, its limits, no buffering and a timeout of 300 s", () => {
  expect(others).toEqual([]);
  const { metadata, spec } = ingress!;
  const { paths } = spec.rules[0]!.http;
  const passed = [...nginx.matchAll(/location (= \/\S*|\/\w\S*) \{/g)].map(([, path]) => path!.replace("= ", ""));
  // One location of nginx serves /agents and /agent, the local variant, which only `patchbay dev` has.
  expect(paths.map(({ path }) => path).toSorted()).toEqual(
    passed.map((path) => (path === "/agent" ? "/agents" : path)).toSorted(),
  );
  for (const { backend } of paths)
    expect(backend.service).toEqual({ name: service.metadata.name, port: { name: service.spec.ports[0]!.name } });

  expect(metadata.annotations).toMatchObject({
    [`${prefix}proxy-buffering`]: "off",
    [`${prefix}proxy-http-version`]: "1.1",
    [`${prefix}proxy-read-timeout`]: "300",
    [`${prefix}proxy-body-size`]: /client_max_body_size (\w+);/.exec(nginx)![1],
    [`${prefix}limit-connections`]: /limit_conn connections (\d+);/.exec(nginx)![1],
    [`${prefix}proxy-next-upstream`]: "error timeout",
  });
});

test("attempts to sign in have the paths and the rate of nginx.conf, and otherwise the settings of the ingress", () => {
  const [, words = ""] = /"~\^POST:\/api\/\(([\w|]+)\)\(\/\|\$\)"/.exec(nginx)!;
  const [, rate] = /zone=sign_in:\S+ rate=(\d+)r\/m;/.exec(nginx)!;
  const { metadata, spec } = signIn!;
  const [rule, ...more] = spec.rules;
  expect(more).toEqual([]);
  expect(rule!.http.paths.map(({ path }) => path)).toEqual(words.split("|").map((word) => `/api/${word}`));
  const { host, http } = ingress!.spec.rules[0]!;
  expect([spec.tls, rule!.host]).toEqual([ingress!.spec.tls, host]);
  for (const { backend } of rule!.http.paths) expect(backend).toEqual(http.paths[0]!.backend);
  const { [`${prefix}limit-rpm`]: rpm, [`${prefix}limit-burst-multiplier`]: burst, ...same } = metadata.annotations;
  expect(rpm).toBe(rate);
  // Not smaller than the burst of nginx.conf, which an office behind one address needs.
  expect(Number(rpm) * Number(burst)).toBeGreaterThanOrEqual(Number(/zone=sign_in burst=(\d+) /.exec(nginx)![1]));
  expect(same).toEqual(ingress!.metadata.annotations);
});

function within(ranges: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const [network = "", bits] of ranges.map((range) => range.split("/")))
    // To a list, IPv4 addresses are also within ::/0.
    if (isIPv6(network) === isIPv6(address)) list.addSubnet(network, Number(bits), familyOf(network));
  return list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
