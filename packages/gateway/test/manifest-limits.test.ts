import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { createCompatibleServices } from "../src/handshake/manifest-limits.ts";
import { fakeManifest } from "@patchbay/test-support/fake-service";

const serviceOf = (service: string, functions: string[] = []) => ({
  service,
  manifest: fakeManifest(functions),
  manifestHash: service,
});

test("an agent has at most 200 services, also without functions", () => {
  const compatible = createCompatibleServices(DEFAULT_LIMITS);
  for (let i = 0; i < 200; i++) expect(compatible.add(serviceOf(`service-${i}`))).toBeUndefined();

  expect(compatible.add(serviceOf("last"))).toBe(
    "service last and 200 others exceed the limit of 200. Use another agent.",
  );
});

test("a refused service does not count against the next one", () => {
  const compatible = createCompatibleServices(DEFAULT_LIMITS, [serviceOf("desk", ["read"])]);

  expect(compatible.add(serviceOf("mail", ["read", "send"]))).toBe("services desk and mail both have read");
  expect(compatible.add(serviceOf("post", ["send"]))).toBeUndefined();
});

const withRole = (service: string, defaultRole: string, functions: string[] = []) => {
  const { manifest, ...rest } = serviceOf(service, functions);
  return { ...rest, manifest: { ...manifest, defaultRole } };
};

test("a reason names both services first, and shortens names that do not fit a close reason", () => {
  const name = "f".repeat(64);
  const compatible = createCompatibleServices(DEFAULT_LIMITS, [withRole("d".repeat(200), "a".repeat(200), [name])]);

  const shared = compatible.add(serviceOf("m".repeat(200), [name]))!;
  const roles = compatible.add(withRole("s".repeat(200), "é".repeat(200)))!;

  const desk = `${"d".repeat(27)}…`;
  expect(shared).toMatch(new RegExp(`^services ${desk} and ${"m".repeat(27)}… both have f{20,}…$`));
  expect(roles).toMatch(new RegExp(`^services ${desk} and ${"s".repeat(27)}… differ in defaultRole: a+… and é+…$`));
  for (const reason of [shared, roles]) expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(120);
});
