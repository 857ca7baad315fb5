import { DEFAULT_LIMITS, LIMITS, type Manifest } from "@patchbay/protocol";
import type { AccessMatrix } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { openConsole } from "./support/open-console.ts";

const MIB = 1_048_576;
const LAST_AT = Date.parse("2026-01-02T03:04:05.678Z");

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

/** A function set of which every role list is full, padded to the limit on its size. */
function largestManifest(roles: string[]): Manifest {
  const manifest: Manifest = {
    name: "desk",
    roles,
    preparesContext: false,
    functions: named("function", LIMITS.functionsPerService).map((name, i) => ({
      name,
      description: "",
      inputSchema: { type: "object" },
      roles: Array.from({ length: DEFAULT_LIMITS.rolesPerFunction }, (_, k) => roles[(i + k) % roles.length]!),
      conditional: true,
      effect: "destructive",
      idempotent: false,
      timeoutMs: 60_000,
      restrictedFields: [],
    })),
  };
  const free = DEFAULT_LIMITS.manifestBytes - JSON.stringify(manifest).length;
  manifest.functions[0]!.restrictedFields = ["m".repeat(Math.max(0, free - 2))];
  return manifest;
}

/** The access matrix of a set in which every role called every function, and the bytes of its answer. */
async function matrixOf(manifest: Manifest) {
  await using console = await openConsole();
  const { store, queries, admin, orgId } = console;
  const { agentId } = await admin.createAgent("Desk", { orgId });
  await store.runtimes.saveManifest(agentId, "h1", manifest);
  queries.access.callsByRole = async (_scope, { functions, roles, limit }) => {
    const pairs = functions.flatMap((functionName) => roles.map((role) => ({ functionName, role })));
    const figures = { calls: 12_345_678, denied: 1_234_567, lastAt: LAST_AT };
    return { items: pairs.slice(0, limit).map((pair) => ({ ...pair, ...figures })), cut: pairs.length > limit };
  };
  const { browser } = await console.member("viewer");
  const text = await (await browser.ask("GET", `/api/agents/${agentId}/access`)).text();
  return { bytes: Buffer.byteLength(text), matrix: JSON.parse(text) as AccessMatrix };
}

test("the access matrix of the largest allowed function set is under 1 MiB", async () => {
  const manifest = largestManifest(named("role", DEFAULT_LIMITS.rolesPerService));

  const { bytes, matrix } = await matrixOf(manifest);

  expect(JSON.stringify(manifest).length).toBe(DEFAULT_LIMITS.manifestBytes);
  expect(bytes).toBeLessThan(MIB);
  expect(matrix.functions).toHaveLength(LIMITS.functionsPerService);
  expect(matrix.roles).toHaveLength(DEFAULT_LIMITS.rolesPerService + 1);
  expect(matrix.functions.every(({ roles }) => roles.length === DEFAULT_LIMITS.rolesPerFunction)).toBe(true);
  expect(matrix).toMatchObject({ rolesOmitted: 0, callsOmitted: true });
});

test("a stored function set with too many roles shows as many as the limit and counts the others", async () => {
  const manifest = largestManifest(named("r", 40_000));

  const { bytes, matrix } = await matrixOf(manifest);

  expect(bytes).toBeLessThan(MIB);
  expect(matrix.roles).toHaveLength(DEFAULT_LIMITS.rolesPerService + 1);
  expect(matrix.rolesOmitted).toBe(40_000 - DEFAULT_LIMITS.rolesPerService);
});
