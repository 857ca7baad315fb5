import { defineFunction, defineService } from "@patchbay/functions";
import { logTo } from "@patchbay/kit";
import { expect, test } from "vitest";
import { z } from "zod";
import { scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const serviceWith = (name: string, count: number) =>
  defineService({
    name,
    functions: Array.from({ length: count }, (_, at) =>
      defineFunction({
        name: `${name}_${at}`,
        description: "Looks something up.",
        input: z.object({}),
        roles: at < 20 ? ["support", "guest"] : ["support"],
        effect: "read",
        handler: () => at,
      }),
    ),
  });

/** 140 functions, all for the role support and 20 of them for the role guest. */
const LARGE = serviceWith("large", 140);

const EXCESS = "role support has 140 functions; gpt-4o takes 128";
const asOpenai = { llmConfig: { provider: "openai", model: "gpt-4o" } };

test("a query with more functions than its model takes ends with both numbers, before a request", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }), { connected: false });
  await system.connect(LARGE);

  expect(await system.query("hi", { role: "support", ...asOpenai })).toMatchObject({
    success: false,
    code: "provider_error",
    errorMessage: expect.stringContaining(EXCESS),
  });
  expect(system.sent()).toEqual([]);
  expect(await system.query("hi", { role: "guest", ...asOpenai })).toMatchObject({ success: true });
});

test("a fallback model is asked instead", async () => {
  await using system = await startContractSystem(scriptFor({ error: { status: 401 } }), { connected: false });
  await system.connect(LARGE);
  const fallback = [{ provider: "openai" as const, model: "llama-4" }];
  await system.plane.admin.updateAgent(system.agentId, { settings: { provider: "openai", model: "gpt-4o", fallback } });

  const { errorMessage } = await system.query("hi", { role: "support" });

  expect(new Set(system.standIn.requests.map(({ body }) => body["model"]))).toEqual(new Set(["llama-4"]));
  expect(errorMessage).toMatch(`Model openai/gpt-4o failed: ${EXCESS}`);
  expect(errorMessage).toMatch("Model openai/llama-4 failed");
});

test("the runtime's log has a warning for each role beyond the limit when its function set connects", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }), { connected: false });
  await system.plane.admin.updateAgent(system.agentId, { settings: { provider: "openai", model: "gpt-4o" } });
  const warnings: unknown[] = [];
  const log = logTo((level, _, { warning }) => void (level === "warn" && warnings.push(warning)));

  const connection = await system.connect(LARGE, { log });

  expect(warnings).toEqual([expect.stringContaining(EXCESS)]);
  await connection.stop();
});

test("the functions of all connected services count together", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }), { connected: false });
  await system.plane.admin.updateAgent(system.agentId, { settings: { provider: "openai", model: "gpt-4o" } });
  const warnings: unknown[] = [];
  const log = logTo((level, _, { warning }) => void (level === "warn" && warnings.push(warning)));

  const [first, second] = [
    await system.connect(serviceWith("orders", 100), { log }),
    await system.connect(serviceWith("stock", 40), { log }),
  ];

  expect(warnings).toEqual([expect.stringContaining(EXCESS)]);
  await Promise.all([first.stop(), second.stop()]);
});
