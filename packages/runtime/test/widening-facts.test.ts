import { widenings } from "@patchbay/access";
import { type Manifest } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { defineFunction, defineService, visibleTo, type Schema } from "../src/index.ts";

const answering = (output: Schema | undefined, input: Schema = z.object({})): Manifest =>
  defineService({
    name: "desk",
    roles: ["staff", "support"],
    functions: [
      defineFunction({
        name: "get_ticket",
        description: "Gets a ticket.",
        input,
        ...(output && { output }),
        roles: ["staff", "support"],
        handler: () => ({}),
      }),
    ],
  }).manifest;

const texts = (before: Manifest, after: Manifest): string[] => widenings(before, after).map(({ text }) => text);
const [NOTE_FOR_SUPPORT, NOTE_FOR_STAFF] = [["support"], ["support", "staff"]];

describe("the manifest of a service", () => {
  test("says whether the service names a subject", () => {
    const service = (subject?: () => string) =>
      defineService({ name: "desk", functions: [], ...(subject && { subject }) });

    expect(service(() => "ada").manifest.namesSubject).toBe(true);
    expect(service().manifest.namesSubject).toBe(false);
    expect(texts(service(() => "ada").manifest, service().manifest)).toHaveLength(1);
  });

  test("has the schema of results with marks and without descriptions", () => {
    const output = z.object({ id: z.string().describe("Number"), note: visibleTo(z.string(), ["support"]) });

    expect(answering(output).functions[0]!.outputSchema).toEqual({
      type: "object",
      properties: { id: { type: "string" }, note: { type: "string", "x-visible-to": ["support"] } },
      required: ["id", "note"],
      additionalProperties: false,
    });
    expect(answering(undefined).functions[0]).not.toHaveProperty("outputSchema");
  });

  test("has every marked place with its roles", () => {
    const order = z.object({ cost: visibleTo(z.number(), ["support"]), "x y": visibleTo(z.string(), ["staff"]) });
    const output = z.object({ orders: z.array(order), all: visibleTo(order, ["staff"]) });

    expect(answering(output).functions[0]!.redactions).toEqual([
      { path: "all", roles: ["staff"] },
      { path: "all.cost", roles: ["support"] },
      { path: 'all["x y"]', roles: ["staff"] },
      { path: "orders[].cost", roles: ["support"] },
      { path: 'orders[]["x y"]', roles: ["staff"] },
    ]);
  });

  test("drops output schemas rather than exceed its size limit", () => {
    const large = z.object(
      Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`member_number_${i}`, z.boolean()])),
    );
    const functions = Array.from({ length: 16 }, (_, i) =>
      defineFunction({
        name: `large_${i}`,
        description: "x".repeat(20_000),
        input: z.object({}),
        output: large,
        roles: "everyone",
        handler: () => ({}),
      }),
    );

    const [one, all] = [functions.slice(0, 1), functions].map((some) =>
      defineService({ name: "desk", functions: some }),
    );

    expect(one!.manifest.functions[0]).toHaveProperty("outputSchema");
    expect(all!.manifest.functions.some((each) => "outputSchema" in each)).toBe(false);
  });
});

describe.each([
  ["zod 4", z],
  ["zod 3", z3 as unknown as typeof z],
])("with %s", (_, zod) => {
  const ticket = zod.object({ id: zod.string() });

  test("a new property, an open object and an open property of an output are widenings", () => {
    const before = answering(ticket);

    expect(texts(before, answering(ticket.extend({ note: zod.string() })))).toHaveLength(1);
    expect(texts(before, answering(ticket.passthrough()))).toHaveLength(1);
    expect(texts(before, answering(zod.object({ id: zod.any() })))).not.toEqual([]);
    expect(texts(before, answering(zod.object({ id: zod.string().transform((id) => ({ id })) })))).not.toEqual([]);
    expect(texts(before, answering(undefined))).toHaveLength(1);
  });

  test("an input that accepts one more property, any property or more values is a widening", () => {
    const before = answering(undefined, ticket);

    expect(texts(before, answering(undefined, ticket.extend({ all: zod.boolean().optional() })))).toHaveLength(1);
    expect(texts(before, answering(undefined, ticket.passthrough()))).toHaveLength(1);
    expect(texts(before, answering(undefined, ticket.partial()))).toHaveLength(1);
  });

  test("a description, a narrower value and one property less are not widenings", () => {
    const before = answering(ticket.extend({ note: zod.string() }), ticket.extend({ count: zod.number().optional() }));
    const narrower = ticket.extend({ count: zod.number().min(1).max(9).describe("How many").optional() });

    expect(texts(before, answering(zod.object({ id: zod.enum(["a", "b"]) }), narrower))).toEqual([]);
  });

  test("a mark with another role and a removed mark are widenings", () => {
    const marked = (roles: string[]) => answering(ticket.extend({ note: visibleTo(zod.string(), roles) }));

    expect(texts(marked(NOTE_FOR_SUPPORT), marked(NOTE_FOR_STAFF))).toEqual(["staff now sees note of get_ticket."]);
    expect(texts(marked(NOTE_FOR_SUPPORT), answering(ticket.extend({ note: zod.string() })))).toHaveLength(1);
    expect(texts(marked(NOTE_FOR_STAFF), marked(NOTE_FOR_SUPPORT))).toEqual([]);
  });
});

describe("with raw JSON Schema", () => {
  const listed = { type: "object", properties: { id: { type: "string" } } };
  const nested = { type: "object", properties: { order: listed } };
  const NEW = 'properties that the schema does not list are new (such as {"other":"a"}).';

  test("an input that keeps unlisted properties is wider than one that drops or refuses them", () => {
    const dropping = answering(undefined, z.object({ id: z.string().optional() }));

    expect(texts(dropping, answering(undefined, listed))).toEqual([
      `staff, support may pass more to get_ticket: ${NEW}`,
    ]);
    expect(
      texts(answering(undefined, { ...listed, additionalProperties: false }), answering(undefined, listed)),
    ).toEqual([`staff, support may pass more to get_ticket: ${NEW}`]);
    expect(texts(answering(undefined, listed), dropping)).toEqual([]);
  });

  test("an inner object that is no longer closed is wider", () => {
    const closed = { ...nested, properties: { order: { ...listed, additionalProperties: false } } };

    expect(texts(answering(undefined, closed), answering(undefined, nested))).toEqual([
      `staff, support may pass more to get_ticket at order: ${NEW}`,
    ]);
    expect(texts(answering(undefined, nested), answering(undefined, closed))).toEqual([]);
  });

  test("a runtime of a version that dropped unlisted properties of raw JSON Schema is narrower", () => {
    const [one] = answering(undefined, listed).functions;
    const { keepsUnlisted, ...older } = one!;

    expect(keepsUnlisted).toBe(true);
    expect(texts({ ...answering(undefined, listed), functions: [older] }, answering(undefined, listed))).toHaveLength(
      1,
    );
  });

  test("a new optional property is not a widening of an open input, but one of an output", () => {
    const more = { ...listed, properties: { ...listed.properties, all: {} } };

    expect(texts(answering(undefined, listed), answering(undefined, more))).toEqual([]);
    expect(texts(answering(listed), answering(more))).toEqual([
      'staff, support now see all of get_ticket (such as "a").',
    ]);
  });
});

test("a function that does not need its caller's token any more is a widening, and the reverse a narrowing", () => {
  const acting = (needsCallerToken: boolean): Manifest =>
    defineService({
      name: "desk",
      functions: [
        defineFunction({
          name: "act",
          description: "Acts as the caller.",
          input: z.object({}),
          roles: "everyone",
          needsCallerToken,
          handler: () => null,
        }),
      ],
    }).manifest;

  expect(texts(acting(true), acting(false))).toEqual([
    expect.stringContaining("calls of act need no token of their caller any more"),
  ]);
  expect(texts(acting(false), acting(true))).toEqual([]);
  expect(texts(acting(true), acting(true))).toEqual([]);
});
