import { describe, expect, test } from "vitest";
import type { z as Zod } from "zod";
import * as mini from "zod/mini";
import * as mini40 from "zod40/mini";
import * as mini41 from "zod41/mini";
import * as mini42 from "zod42/mini";
import { DefinitionError, defineFunction, visibleTo } from "../../src/index.ts";
import { call, serviceOf } from "../calls.ts";
import { RELEASES } from "./row.ts";

const base = { name: "read", description: "Reads an order.", roles: ["guest", "manager"] };

describe.each(Object.entries(RELEASES))("a function with another copy of zod: %s", (_, name) => {
  test("parses arguments and removes restricted fields", async () => {
    const { z } = (await import(name)) as { z: typeof Zod };
    const service = serviceOf(
      defineFunction({
        ...base,
        input: z.object({ id: z.string().transform(Number), limit: z.number().default(2) }),
        output: z.object({ id: z.number(), limit: z.number(), cost: visibleTo(z.number(), ["manager"]).min(1) }),
        handler: ({ id, limit }) => ({ id, limit, cost: 5 }),
      }),
    );

    const asGuest = await call(service, "read", { id: "7" }, { role: "guest" });
    const asManager = await call(service, "read", { id: "7" }, { role: "manager" });

    expect(asGuest).toMatchObject({ ok: true, value: { id: 7, limit: 2 } });
    expect(asGuest).not.toHaveProperty("value.cost");
    expect(asManager).toMatchObject({ ok: true, value: { id: 7, limit: 2, cost: 5 } });
    expect(await call(service, "read", { id: 7 }, { role: "guest" })).toMatchObject({
      ok: false,
      code: "invalid_arguments",
    });
  });
});

describe("zod mini", () => {
  const releases = { "4.1": mini41, "4.2": mini42, "4.6": mini } as unknown as Record<string, typeof mini>;

  test.each(Object.entries(releases))("%s keeps descriptions and marks", async (_, z) => {
    const id = z.string().register(z.globalRegistry, { description: "Its number" });
    const cost = z.number().register(z.globalRegistry, { "x-visible-to": ["manager"] });
    const output = z.object({ id: z.string(), cost });
    const read = defineFunction({ ...base, input: z.object({ id }), output, handler: () => ({ id: "7", cost: 5 }) });

    expect(read.manifest.inputSchema).toEqual({
      type: "object",
      properties: { id: { type: "string", description: "Its number" } },
      required: ["id"],
    });
    expect(await call(serviceOf(read), "read", { id: "7" }, { role: "guest" })).toMatchObject({
      ok: true,
      value: { id: "7" },
    });
    expect(await call(serviceOf(read), "read", { id: "7" }, { role: "guest" })).not.toHaveProperty("value.cost");
  });

  test("before 4.1.13 is refused, because its descriptions and marks cannot be read", () => {
    const schema = mini40.object({ id: mini40.string() });
    const message =
      'a schema of "zod/mini" 4.0.17 keeps its descriptions where other packages cannot read them. Upgrade zod to 4.2 or newer, or import z from "zod" instead of "zod/mini".';

    for (const part of ["input", "output"]) {
      const define = () => defineFunction({ ...base, input: { type: "object" }, [part]: schema, handler: () => null });
      expect(define).toThrow(DefinitionError);
      expect(define).toThrow(message);
      expect(define).toThrow(`Function "read": ${part}: `);
    }
  });
});
