import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { ROUTES } from "../../packages/control-plane/src/http/query/routes.ts";

type Labels = Record<string, string>;

interface Deployment {
  spec: { selector: { matchLabels: Labels }; template: { metadata: { labels: Labels }; spec: Pod } };
}

interface Pod {
  terminationGracePeriodSeconds: number;
  containers: {
    args: string[];
    ports: { name: string; containerPort: number }[];
    volumeMounts: { name: string }[];
    securityContext: { readOnlyRootFilesystem: boolean };
    lifecycle?: object;
    [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
  }[];
  volumes: { name: string }[];
}

interface Service {
  metadata: { name: string };
  spec: { selector: Labels; ports: { name: string; targetPort: string }[] };
}

interface Ingress {
  metadata: { annotations: Record<string, string> };
  spec: { rules: { http: { paths: { path: string; backend: { service: object } }[] } }[] };
}

const read = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), "utf8");
const manifests = parseAllDocuments(read("kubernetes.yaml")).map((document) => {
  expect(document.errors).toEqual([]);
  return document.toJS() as { kind: string; metadata: { namespace: string } };
});
const ofKind = (kind: string): unknown => manifests.find((manifest) => manifest.kind === kind);

const { selector, template } = (ofKind("Deployment") as Deployment).spec;
const [container] = template.spec.containers;
const service = ofKind("Service") as Service;

test("all selectors match the pods of the deployment", () => {
  const { labels } = template.metadata;
  const budget = ofKind("PodDisruptionBudget") as { spec: { selector: { matchLabels: Labels } } };
  for (const selected of [selector.matchLabels, budget.spec.selector.matchLabels, service.spec.selector])
    expect(labels).toMatchObject(selected);
  expect(new Set(manifests.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["patchbay"]));
});

test("ports and volumes are those of the container, and probes request existing routes", () => {
  const ports = container!.ports.map(({ name }) => name);
  const open = ROUTES.filter(({ access }) => access === "open").map(({ path }) => path);
  for (const [probe, path] of [
    ["startupProbe", "/healthz"],
    ["livenessProbe", "/healthz"],
    ["readinessProbe", "/readyz"],
  ] as const) {
    const { httpGet } = container![probe]!;
    expect(httpGet.path).toBe(path);
    expect(open).toContain(path);
    expect(ports).toContain(httpGet.port);
  }
  expect(ports).toContain(service.spec.ports[0]!.targetPort);
  const volumes = template.spec.volumes.map(({ name }) => name);
  expect(container!.volumeMounts.map(({ name }) => name)).toEqual(volumes);
});

test("a replica has time to drain and begins immediately", () => {
  expect(template.spec.terminationGracePeriodSeconds).toBe(30);
  expect(container!.lifecycle).toBeUndefined();
  expect(container!.args).toEqual(["serve"]);
});

test("the ingress has the paths of nginx.conf, no buffering and a timeout of 300 s", () => {
  const { metadata, spec } = ofKind("Ingress") as Ingress;
  const { paths } = spec.rules[0]!.http;
  const passed = [...read("nginx.conf").matchAll(/location (= \/\S*|\/\w\S*) \{/g)].map(([, path]) =>
    path!.replace("= ", ""),
  );
  // One location of nginx serves /agents and /agent, the local variant, which only `patchbay dev` has.
  expect(paths.map(({ path }) => path).toSorted()).toEqual(
    passed.map((path) => (path === "/agent" ? "/agents" : path)).toSorted(),
  );
  for (const { backend } of paths)
    expect(backend.service).toEqual({ name: service.metadata.name, port: { name: service.spec.ports[0]!.name } });

  const prefix = "nginx.ingress.kubernetes.io/";
  expect(metadata.annotations).toMatchObject({
    [`${prefix}proxy-buffering`]: "off",
    [`${prefix}proxy-http-version`]: "1.1",
    [`${prefix}proxy-read-timeout`]: "300",
    [`${prefix}proxy-body-size`]: /client_max_body_size (\w+);/.exec(read("nginx.conf"))![1],
    [`${prefix}limit-connections`]: /limit_conn connections (\d+);/.exec(read("nginx.conf"))![1],
    [`${prefix}proxy-next-upstream`]: "error timeout",
  });
});
