import { PROVIDER_NAMES, PROVIDERS } from "@patchbay/protocol/providers";
import { expect, test } from "vitest";
import type { ModelProvider } from "@patchbay/engine/ports/model-provider";

const ROW = { label: "Acme", env: "ACME", keyShape: /^acme-/, otel: "acme.ai", keyOptional: false };
const acme: ModelProvider = { name: "acme", async *stream() {} };
const WIRE = { owns: (model: string) => model.startsWith("acme-"), defaultModel: () => "acme-1", create: () => acme };

test("a row in each of the two tables adds a provider everywhere", async () => {
  Object.assign(PROVIDERS, { acme: ROW });
  (PROVIDER_NAMES as string[]).push("acme");
  const { WIRES } = await import("../../models/src/providers.ts");
  Object.assign(WIRES, { acme: WIRE });

  const { readProviderConfig } = await import("../src/config.ts");
  const { checkProviders } = await import("../src/doctor/local-checks.ts");
  const { SECRETS } = await import("../src/secret-files.ts");
  const { describeProvider } = await import("../src/serving.ts");
  const { LlmConfig } = await import("@patchbay/protocol");
  const { Models } = await import("@patchbay/protocol/console");
  const { createModelCatalog } = await import("@patchbay/models/catalog");
  const { attemptAttributes } = await import("../../engine/src/tracing/attributes.ts");

  const { offline, ...config } = readProviderConfig({ ACME_API_KEY: "acme-key", PATCHBAY_PROVIDER: "acme" });
  const prices = { "acme-1": { input: 1, output: 2 } };
  const catalog = createModelCatalog({ ...config, prices });
  const chosen = catalog.choose();
  if ("missing" in chosen) throw new Error(`no ${chosen.missing}`);
  const request = { maxTokens: 1 } as Parameters<typeof attemptAttributes>[1];

  expect(offline).toBe(false);
  expect(chosen).toMatchObject({ provider: acme, model: "acme-1" });
  expect(catalog.providers()).toMatchObject([{ name: "acme", model: "acme-1", priced: [{ model: "acme-1" }] }]);
  const openai = createModelCatalog({ openai: { apiKey: "key", api: "responses" }, prices }).providers()[0];
  expect(openai?.priced.map(({ model }) => model)).not.toContain("acme-1");
  expect(attemptAttributes(chosen, request)).toMatchObject({ "gen_ai.provider.name": "acme.ai" });
  expect(checkProviders({ ACME_API_KEY: "sk-1" })).toMatchObject([{ status: "warn", fix: "Check ACME_API_KEY." }]);
  expect(SECRETS).toContain("ACME_API_KEY");
  expect(describeProvider("none")).toMatch(/GEMINI_API_KEY or ACME_API_KEY, or PATCHBAY_PROVIDER=offline/);
  expect(LlmConfig.safeParse({ provider: "acme" }).success).toBe(true);
  expect(Models.shape.providers.element.shape.name.safeParse("acme").success).toBe(true);
});
