// Copied as JavaScript next to the built packages, so it must not contain TypeScript syntax.
import { defineService, functionsFor, visibleTo } from "@patchbay/functions";
import { z } from "zod";

const ROLES = ["guest", "customer", "staff", "lead", "auditor", "boss"];
const LIMIT = 50;
const owners = new Map([
  ["a", "ada"],
  ["b", "ben"],
]);
const context = z.object({ userId: z.string().max(40).optional(), team: z.enum(["north", "south"]).optional() });
const { defineFunction } = functionsFor(context);

// 50 functions for 6 roles, each with a schema, a rule and four cases.
const functions = Array.from({ length: 50 }, (_, i) =>
  defineFunction({
    name: `change_order_${i}`,
    description: `Changes an order in way ${i}.`,
    input: z.object({
      order: z.string().min(1).max(8),
      amount: z
        .number()
        .positive()
        .max(100 + i),
      reason: z.enum(["damaged", "late", "other"]),
      lines: z.array(z.object({ sku: z.string().max(20), count: z.int().min(1).max(99) })).max(20),
      note: z.string().max(200).optional(),
    }),
    output: z.object({ id: z.string(), amount: z.number(), card: visibleTo(z.string(), ["boss"]) }),
    roles: ROLES.slice(i % 3),
    authorize: ({ role, context: { userId }, input }) => {
      if (role === "boss") return true;
      const mayChange = role === "lead" || role === "staff" || (role === "customer" && i % 2 === 0);
      return mayChange && userId !== undefined && owners.get(input.order) === userId && input.amount <= LIMIT + i;
    },
    cases: {
      own: { input: { order: "a", amount: 10, reason: "late", lines: [] }, context: { userId: "ada" } },
      foreign: { input: { order: "b", amount: 10, reason: "late", lines: [] }, context: { userId: "ada" } },
      large: { input: { order: "a", amount: 100, reason: "late", lines: [] }, context: { userId: "ada" } },
      anonymous: { input: { order: "a", amount: 10, reason: "late", lines: [{ sku: "s", count: 1 }] } },
    },
    handler: ({ order, amount }) => ({ id: order, amount, card: "" }),
  }),
);

// oxlint-disable-next-line import/no-default-export -- the form of a service file
export default defineService({ name: "many", roles: ROLES, context, functions });
