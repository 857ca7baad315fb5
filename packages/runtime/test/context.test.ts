import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, functionsFor } from "../src/index.ts";
import { call, memoryLog } from "./calls.ts";

const context = z.object({
  customerId: z.string().min(1),
  since: z.coerce.date().optional(),
  locale: z.string().default("en"),
});
const desk = functionsFor(context);
const base = { name: "probe", description: "A function under test.", input: z.object({}), roles: "everyone" as const };

describe("the context of a query", () => {
  test("is converted for functions with its schema, and unchanged for others", async () => {
    const service = defineService({
      name: "desk",
      context,
      functions: [
        desk.defineFunction({ ...base, name: "typed", handler: (_, call) => call.context }),
        defineFunction({ ...base, name: "plain", handler: (_, call) => call.context }),
      ],
    });
    const sent = { customerId: "c1", since: "2020-01-01", more: 1 };

    expect(await call(service, "typed", {}, { context: sent })).toEqual({
      ok: true,
      value: { customerId: "c1", since: "2020-01-01T00:00:00.000Z", locale: "en" },
    });
    expect(await call(service, "plain", {}, { context: sent })).toEqual({ ok: true, value: sent });
  });

  test("is converted for authorize", async () => {
    const authorize = vi.fn(() => true);
    const service = defineService({
      name: "desk",
      context,
      functions: [desk.defineFunction({ ...base, authorize, handler: () => null })],
    });

    await call(service, "probe", {}, { context: { customerId: "c1" } });

    expect(authorize).toHaveBeenCalledWith({ role: undefined, context: { customerId: "c1", locale: "en" }, input: {} });
  });

  test("that does not match the schema stops every call", async () => {
    const handler = vi.fn();
    const service = defineService({ name: "desk", context, functions: [defineFunction({ ...base, handler })] });

    const outcome = await call(service, "probe", {}, { context: { customerId: "" } });

    expect(outcome).toMatchObject({ ok: false, code: "denied", rule: "context" });
    expect(outcome).toMatchObject({ message: expect.stringContaining("contextJson.customerId: ") });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe("preparing a context", () => {
  const functions = [defineFunction({ ...base, handler: () => null })];

  test("without schema, subject or modelContext returns only ok", async () => {
    const service = defineService({ name: "desk", functions });

    expect(service.manifest.preparesContext).toBe(false);
    expect(await service.prepare({ context: { any: 1 } })).toEqual({ ok: true });
  });

  test("reports every fault with its path in contextJson", async () => {
    const nested = z.object({ customerId: z.string(), shop: z.object({ id: z.number() }) });
    const service = defineService({ name: "desk", context: nested, functions });

    expect(service.manifest.preparesContext).toBe(true);
    expect(await service.prepare({ context: { shop: { id: "x" } } })).toEqual({
      ok: false,
      faults: [
        { path: "contextJson.customerId", message: expect.any(String) },
        { path: "contextJson.shop.id", message: expect.any(String) },
      ],
    });
  });

  test("a fault of the whole context has the path contextJson", async () => {
    const service = defineService({
      name: "desk",
      context: z.looseObject({}).refine((given) => "a" in given || "b" in given, "needs a or b"),
      functions,
    });

    expect(await service.prepare({ context: {} })).toEqual({
      ok: false,
      faults: [{ path: "contextJson", message: "needs a or b" }],
    });
  });

  test("accepts a raw JSON Schema", async () => {
    const raw = { type: "object", properties: { customerId: { type: "string" } }, required: ["customerId"] };
    const service = defineService({ name: "desk", context: raw, functions });

    expect(await service.prepare({ context: {} })).toEqual({
      ok: false,
      faults: [{ path: "contextJson.customerId", message: "is required" }],
    });
  });

  test("calls subject and modelContext with the parsed context", async () => {
    const service = defineService({
      name: "desk",
      context,
      subject: async ({ customerId }) => `customer:${customerId}`,
      modelContext: ({ since, locale }) => ({ since, locale }),
      functions,
    });

    expect(await service.prepare({ role: "customer", context: { customerId: "c1", since: "2020-01-01" } })).toEqual({
      ok: true,
      subject: "customer:c1",
      modelContext: { since: "2020-01-01T00:00:00.000Z", locale: "en" },
    });
  });

  test("gives the model null if modelContext returns nothing", async () => {
    const service = defineService({ name: "desk", modelContext: () => undefined, subject: () => undefined, functions });

    expect(await service.prepare({ context: { secret: 1 } })).toEqual({ ok: true, modelContext: null });
  });

  test("an owner's error makes the context invalid, and only the log has the reason", async () => {
    const log = memoryLog();
    const service = defineService({
      name: "desk",
      subject() {
        throw new Error("table customers is missing");
      },
      functions,
    });

    const prepared = await service.prepare({ context: {} }, { log });

    const { reference } = log.lines[0]?.fields ?? {};
    expect(log.lines[0]).toMatchObject({ level: "error", message: "context could not be prepared" });
    expect(prepared).toEqual({
      ok: false,
      faults: [{ path: "contextJson", message: `could not be read. Reference: ${String(reference)}` }],
    });
  });
});
