import { inService, type Edit } from "./edits.ts";

const BOUNDS: Edit[] = [
  inService("max 100 to 1000000", "positive().max(100)", "positive().max(1_000_000)"),
  inService("no max", "positive().max(100)", "positive()"),
  inService("zero", "positive().max(100)", "nonnegative().max(100)"),
  inService("negative", "z.number().positive().max(100)", "z.number().max(100)"),
  inService("longer ids", "min(1).max(8)", "min(1).max(80)"),
  inService("empty ids", "min(1).max(8)", "max(8)"),
  inService("longer notes", "z.string().max(200)", "z.string().max(2000)"),
  inService("more orders", "min(1).max(50)", "min(1).max(500)"),
  inService("fractions of orders", "limit: z.number().int().min(1)", "limit: z.number().min(1)"),
  inService("more tags", "max(20)).max(5)", "max(20)).max(50)"),
  inService("longer tags", "z.string().max(20)", "z.string()"),
  inService("any date", "z.iso.date()", "z.string()"),
  inService("any user", "z.string().regex(/^[a-z]{3,8}$/)", "z.string()"),
  inService("another pattern", "/^[a-z]{3,8}$/", "/^[a-z@]{3,8}$/"),
  inService("shorter searches", "minLength: 3", "minLength: 1"),
  inService("more pages", "maximum: 20", "maximum: 2000"),
  inService("negative pages", "minimum: 0, ", ""),
  inService("a text that is not required", 'required: ["text"],', ""),
  inService("an open search", "additionalProperties: false,", ""),
  inService("longer countries", "z.string().length(2)", "z.string().min(2)"),
  inService("more days of a report", "max(365)", "max(3650)"),
  inService("no refinement", '.refine((zip) => zip !== "00000")', ""),
  inService("a weaker refinement", '(zip) => zip !== "00000"', '(zip) => zip !== "00000" || zip.length > 5'),
  inService("an unconfirmed close", "confirm: z.literal(true)", "confirm: z.boolean()"),
  inService("a close without a confirmation", "confirm: z.literal(true)", "confirm: z.literal(true).optional()"),
  inService("an order without a limit", "max(50),", "max(50).optional(),"),
];

const VALUES: Edit[] = [
  inService("another reason", 'z.enum(["damaged", "late"])', 'z.enum(["damaged", "late", "any"])'),
  inService("any reason", 'z.enum(["damaged", "late"])', "z.string()"),
  inService(
    "another status to list",
    'status: z.enum(["open", "sent"]),\n    limit',
    'status: z.enum(["open", "sent", "lost"]),\n    limit',
  ),
  inService("another sort", 'z.literal("age"), z', 'z.literal("age"), z.literal("name"), z'),
  inService("a sort by anything", 'by: z.literal("total")', "by: z.string()"),
  inService("another format", 'z.enum(["csv", "json"])', 'z.enum(["csv", "json", "sql"])'),
  inService(
    "a new argument of a refund",
    "note: z.string().max(200).optional(),",
    "note: z.string().max(200).optional(),\n    to: z.string().optional(),",
  ),
  inService(
    "an open refund",
    "input: z.object({\n    order: orderId,\n    amount",
    "input: z.looseObject({\n    order: orderId,\n    amount",
  ),
  inService("a loose close", "z.strictObject({ user", "z.looseObject({ user"),
];

const OUTPUTS: Edit[] = [
  inService("a new member", "amount: z.number(),\n    card", "amount: z.number(),\n    ssn: z.string(),\n    card"),
  inService("a member of items", "sku: z.string(), price", "sku: z.string(), cost: z.number(), price"),
  inService("an open output", "output: z.object({ ok: z.boolean() })", "output: z.looseObject({ ok: z.boolean() })"),
  inService("an open member", "address: z.object({ city", "address: z.looseObject({ city"),
  inService(
    "another status",
    'status: z.enum(["open", "sent"]),\n    total',
    'status: z.enum(["open", "sent", "fraud"]),\n    total',
  ),
  inService("any status", 'status: z.enum(["open", "sent"]),\n    total', "status: z.string(),\n    total"),
  inService("a larger total", "max(1000).nullable()", "nullable()"),
  inService("a longer zip", "zip: z.string().max(10)", "zip: z.string()"),
  inService("a member of anything", "hours: z.string()", "hours: z.any()"),
  inService("no output", "output: z.object({ ok: z.boolean() }),", ""),
  inService(
    "a new branch",
    'z.object({ kind: z.literal("file"), url: z.string() }),',
    'z.object({ kind: z.literal("file"), url: z.string() }),\n      z.object({ kind: z.literal("raw"), data: z.string() }),',
  ),
  inService(
    "a member of a branch",
    'kind: z.literal("file"), url: z.string()',
    'kind: z.literal("file"), url: z.string(), path: z.string()',
  ),
  inService(
    "a member of listed orders",
    'id: z.string(), status: z.enum(["open", "sent"]) })),',
    'id: z.string(), owner: z.string(), status: z.enum(["open", "sent"]) })),',
  ),
  inService("more customers", "maxItems: 10", "maxItems: 10000"),
  inService(
    "a member of raw JSON Schema",
    'name: { type: "string" }, debt',
    'name: { type: "string" }, mail: { type: "string" }, debt',
  ),
  inService(
    "leads see cards",
    'card: visibleTo(z.string(), ["boss"])',
    'card: visibleTo(z.string(), ["boss", "lead"])',
  ),
  inService("everyone sees cards", 'card: visibleTo(z.string(), ["boss"])', "card: z.string()"),
  inService(
    "staff sees prices",
    'visibleTo(z.number(), ["lead", "boss"])',
    'visibleTo(z.number(), ["staff", "lead", "boss"])',
  ),
  inService(
    "leads see mails",
    'visibleTo(z.string(), ["boss"]) }), ["lead", "boss"])',
    'z.string() }), ["lead", "boss"])',
  ),
  inService(
    "staff sees customers",
    '}), ["lead", "boss"]),\n    address',
    '}), ["staff", "lead", "boss"]),\n    address',
  ),
  inService("leads see debts", ', "x-visible-to": ["boss"]', ""),
  inService("leads see secrets", 'secret: visibleTo(z.string(), ["boss"])', "secret: z.string()"),
];

/** Changes of inputs and outputs that let a role pass or see more. */
export const WIDENED_SCHEMAS: readonly Edit[] = [BOUNDS, VALUES, OUTPUTS].flat();
