import { defineService, functionsFor, visibleTo } from "@patchbay/functions";
import { z } from "zod";
import { REVIEW_ABOVE } from "./limits.ts";
import { createAddressRule, ExportPolicy, isBlocked, isOwn, isSameTeam, isWithin } from "./policy.ts";
import { countOrders } from "./records.ts";

const context = z.object({
  userId: z.string().max(40).optional(),
  team: z.enum(["north", "south"]).optional(),
});
const { defineFunction } = functionsFor(context);

const orderId = z.string().min(1).max(8);

const refundOrder = defineFunction({
  name: "refund_order",
  description: "Refunds an order.",
  input: z.object({
    order: orderId,
    amount: z.number().positive().max(100),
    reason: z.enum(["damaged", "late"]),
    note: z.string().max(200).optional(),
  }),
  output: z.object({
    id: z.string(),
    amount: z.number(),
    card: visibleTo(z.string(), ["boss"]),
    lines: z.array(z.object({ sku: z.string(), price: visibleTo(z.number(), ["lead", "boss"]) })),
  }),
  roles: ["staff", "lead", "boss"],
  effect: "write",
  authorize: ({ role, context, input }) => {
    if (isBlocked(context)) return false;
    if (role === "boss") return true;
    return isOwn(input.order, context) && isWithin(input.amount);
  },
  approval: {
    by: ["lead", "boss"],
    when: ({ input }) => input.amount > REVIEW_ABOVE,
    edit: ["note"],
    expiresIn: "2h",
  },
  cases: {
    own: { input: { order: "a", amount: 10, reason: "late" }, context: { userId: "ada", team: "north" } },
    foreign: { input: { order: "b", amount: 10, reason: "late" }, context: { userId: "ada", team: "north" } },
    large: { input: { order: "a", amount: 90, reason: "late" }, context: { userId: "ada", team: "north" } },
    other: { input: { order: "b", amount: 10, reason: "late" }, context: { userId: "ben", team: "south" } },
  },
  handler: ({ order, amount }) => ({ id: order, amount, card: "1234", lines: [] }),
});

const getOrder = defineFunction({
  name: "get_order",
  description: "Gets an order.",
  input: z.object({ order: orderId }),
  output: z.object({
    id: z.string(),
    status: z.enum(["open", "sent"]),
    total: z.number().int().min(0).max(1000).nullable(),
    customer: visibleTo(z.object({ name: z.string(), mail: visibleTo(z.string(), ["boss"]) }), ["lead", "boss"]),
    address: z.object({ city: z.string(), zip: z.string().max(10) }).optional(),
  }),
  roles: ["guest", "staff", "lead", "boss"],
  effect: "read",
  authorize: ({ role, context, input }) => {
    switch (role) {
      case "boss":
        return true;
      case "lead":
        return isSameTeam(input.order, context);
      default:
        return isOwn(input.order, context) || "Only your own orders.";
    }
  },
  cases: {
    own: { input: { order: "a" }, context: { userId: "ada" } },
    foreign: { input: { order: "b" }, context: { userId: "ada" } },
    anonymous: { input: { order: "a" } },
  },
  handler: ({ order }) => ({
    id: order,
    status: "open" as const,
    total: countOrders(),
    customer: { name: "", mail: "" },
  }),
});

const listOrders = defineFunction({
  name: "list_orders",
  description: "Lists orders.",
  input: z.object({
    status: z.enum(["open", "sent"]),
    limit: z.number().int().min(1).max(50),
    tags: z.array(z.string().max(20)).max(5).optional(),
    since: z.iso.date().optional(),
    sort: z.union([z.literal("age"), z.object({ by: z.literal("total"), down: z.boolean() })]).optional(),
  }),
  output: z.array(z.object({ id: z.string(), status: z.enum(["open", "sent"]) })),
  roles: ["staff", "lead", "boss"],
  effect: "read",
  handler: () => [],
});

const closeAccount = defineFunction({
  name: "close_account",
  description: "Closes an account.",
  input: z.strictObject({ user: z.string().regex(/^[a-z]{3,8}$/), confirm: z.literal(true) }),
  roles: ["boss"],
  effect: "destructive",
  approval: { by: ["boss"], expiresIn: "1h" },
  handler: ({ user }) => ({ user }),
});

const searchCustomers = defineFunction({
  name: "search_customers",
  description: "Finds customers.",
  input: {
    type: "object",
    properties: { text: { type: "string", minLength: 3 }, page: { type: "integer", minimum: 0, maximum: 20 } },
    required: ["text"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      found: {
        type: "array",
        maxItems: 10,
        items: {
          type: "object",
          properties: { name: { type: "string" }, debt: { type: "number", "x-visible-to": ["boss"] } },
        },
      },
    },
  },
  roles: ["lead", "boss"],
  effect: "read",
  handler: () => ({ found: [] }),
});

const updateAddress = defineFunction({
  name: "update_address",
  description: "Changes the address of an order.",
  input: z.object({
    order: orderId,
    address: z.object({ country: z.string().length(2), zip: z.string().refine((zip) => zip !== "00000") }),
  }),
  output: z.object({ ok: z.boolean() }),
  roles: ["staff", "boss"],
  authorize: createAddressRule(["de", "fr"]),
  cases: {
    own: { input: { order: "a", address: { country: "de", zip: "1" } }, context: { userId: "ada" } },
    abroad: { input: { order: "a", address: { country: "us", zip: "1" } }, context: { userId: "ada" } },
  },
  handler: () => ({ ok: true }),
});

const exportPolicy = new ExportPolicy(30);

const exportReport = defineFunction({
  name: "export_report",
  description: "Exports a report.",
  input: z.object({ days: z.number().int().min(1).max(365), format: z.enum(["csv", "json"]).default("csv") }),
  output: z.object({
    report: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("file"), url: z.string() }),
      z.object({ kind: z.literal("rows"), rows: z.number(), secret: visibleTo(z.string(), ["boss"]) }),
    ]),
  }),
  roles: ["lead", "boss"],
  effect: "read",
  authorize: ({ context, input }) => exportPolicy.allows(input.days, context),
  cases: {
    week: { input: { days: 7 }, context: { userId: "ada" } },
    year: { input: { days: 365 }, context: { userId: "ada" } },
    ben: { input: { days: 7 }, context: { userId: "ben" } },
  },
  handler: () => ({ report: { kind: "file" as const, url: "" } }),
});

const listHours = defineFunction({
  name: "list_hours",
  description: "Lists the opening hours.",
  input: z.object({}),
  output: z.object({ hours: z.string() }),
  roles: "everyone",
  effect: "read",
  handler: () => ({ hours: "9 to 17" }),
});

export default defineService({
  name: "desk",
  roles: ["guest", "staff", "lead", "boss"],
  defaultRole: "guest",
  context,
  subject: ({ userId }) => userId,
  beforeQuery: ({ query }) => (query.includes("password") ? { refuse: "Send no passwords." } : undefined),
  functions: [refundOrder, getOrder, listOrders, closeAccount, searchCustomers, updateAddress, exportReport, listHours],
});
