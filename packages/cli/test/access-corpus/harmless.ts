import { inFile, inService, type Edit } from "./edits.ts";
import { NARROWINGS } from "./narrowings.ts";

const policy = (name: string, from: string, to: string) => inFile("policy", name, from, to);
const limits = (name: string, from: string, to: string) => inFile("limits", name, from, to);
const records = (name: string, from: string, to: string) => inFile("records", name, from, to);

const TEXTS: Edit[] = [
  ...[
    "Refunds an order.",
    "Gets an order.",
    "Lists orders.",
    "Closes an account.",
    "Finds customers.",
    "Exports a report.",
  ].map((text) => inService(`another description: ${text}`, `"${text}"`, `"${text} For staff."`)),
  inService(
    "a described argument",
    "order: orderId,\n    amount: z",
    'order: orderId.describe("Id, such as a"),\n    amount: z',
  ),
  inService("a described amount", "max(100),", 'max(100).describe("In EUR"),'),
  inService("a described member", "id: z.string(),\n    amount", 'id: z.string().describe("The refund"),\n    amount'),
  inService("another error message", "z.string().max(200)", 'z.string().max(200, "too long")'),
  inService(
    "a title",
    "output: z.object({ hours: z.string() })",
    'output: z.object({ hours: z.string().meta({ title: "Hours" }) })',
  ),
  inService("another text of a refusal", "Only your own orders.", "You can read only your own orders."),
  inService("another text of the hook", "Send no passwords.", "Do not send passwords."),
  inService("instructions", 'name: "desk",\n  roles', 'name: "desk",\n  instructions: "Be brief.",\n  roles'),
  inService(
    "an example",
    'name: "desk",\n  roles',
    'name: "desk",\n  exampleQueries: ["When are you open?"],\n  roles',
  ),
  inService("another name", 'name: "desk",\n  roles', 'name: "help-desk",\n  roles'),
  inService("a comment", "const refundOrder", "// Refunds are final.\nconst refundOrder"),
  inService("a comment in authorize", "if (isBlocked", "// They may not call.\n    if (isBlocked"),
  inService(
    "layout",
    "if (isBlocked(context)) return false;",
    "if (\n      isBlocked(context)\n    ) {\n      return false;\n    }",
  ),
  inService(
    "parentheses",
    "return isOwn(input.order, context) && isWithin(input.amount);",
    "return (isOwn(input.order, context)) && (isWithin(input.amount));",
  ),
  inService("types in authorize", "const exportPolicy = ", "const exportPolicy: ExportPolicy = "),
  inService("a model context", "subject: (", "modelContext: () => undefined,\n  subject: ("),
];

export const CODE: readonly Edit[] = [
  inService("another handler", 'hours: "9 to 17"', 'hours: "9 to 18"'),
  inService(
    "a handler that reads records",
    "handler: () => []",
    'handler: () => [{ id: String(countOrders()), status: "open" as const }]',
  ),
  inService(
    "a helper of a handler",
    "handler: ({ user }) => ({ user })",
    "handler: ({ user }) => ({ user: user.trim() })",
  ),
  inService("an async handler", "handler: () => ({ ok: true })", "handler: async () => ({ ok: true })"),
  records("a helper that only handlers use", "Object.keys(owners).length", "Object.values(owners).length"),
  records(
    "a new helper",
    "export function countOrders",
    "export const twice = (n: number): number => 2 * n;\nexport function countOrders",
  ),
  records("another type", "Record<string, string>", "{ [order: string]: string }"),
  limits("an unused constant", "export const BLOCKED", "export const UNUSED = 7;\nexport const BLOCKED"),
  limits("order of constants", 'export const BLOCKED = ["eve"];', "export const BLOCKED = ['eve'];"),
  policy("a type", "export interface Caller {", "export type Anyone = Caller;\nexport interface Caller {"),
  policy("a comment", "export const isOwn", "/** True for an own order. */\nexport const isOwn"),
  policy("quotes", 'role === "boss"', "role === 'boss'"),
  inService(
    "a renamed parameter",
    "authorize: ({ context, input }) => exportPolicy.allows(input.days, context)",
    "authorize: (call) => exportPolicy.allows(call.input.days, call.context)",
  ),
  inService(
    "an extracted condition",
    "return isOwn(input.order, context) && isWithin(input.amount);",
    "const own = isOwn(input.order, context);\n    return own && isWithin(input.amount);",
  ),
  inService(
    "a ternary",
    'if (role === "boss") return true;\n    return isOwn(input.order, context) && isWithin(input.amount);',
    'return role === "boss" ? true : isOwn(input.order, context) && isWithin(input.amount);',
  ),
  inService(
    "if for switch",
    'switch (role) {\n      case "boss":\n        return true;',
    'if (role === "boss") return true;\n    switch (role) {',
  ),
  inService(
    "exchanged operands",
    "isOwn(input.order, context) && isWithin(input.amount)",
    "isWithin(input.amount) && isOwn(input.order, context)",
  ),
  policy(
    "a function for an arrow",
    "export const isWithin = (amount: number): boolean => amount > 0 && amount <= MOST_REFUND;",
    "export function isWithin(amount: number): boolean {\n  return amount > 0 && amount <= MOST_REFUND;\n}",
  ),
  policy(
    "De Morgan",
    "userId !== undefined && BLOCKED.includes(userId)",
    "!(userId === undefined || !BLOCKED.includes(userId))",
  ),
  policy(
    "some for includes",
    "countries.includes(input.address.country)",
    "countries.some((one) => one === input.address.country)",
  ),
  records(
    "optional chaining",
    "user === undefined ? undefined : teams.get(user)",
    "user ? teams.get(user) : undefined",
  ),
  limits("another notation", "MOST_REFUND = 100", "MOST_REFUND = 1e2"),
  limits("a product", "REVIEW_ABOVE = 50", "REVIEW_ABOVE = 5 * 10"),
  policy(
    "an early return",
    "if (!countries.includes(input.address.country)) return false;\n    return isOwn(input.order, context);",
    "return countries.includes(input.address.country) && isOwn(input.order, context);",
  ),
];

const SCHEMAS: Edit[] = [
  inService("gt for positive", "positive().max(100)", "gt(0).max(100)"),
  inService("lte for max", "positive().max(100)", "positive().lte(100)"),
  inService("a union for an enum", 'z.enum(["damaged", "late"])', 'z.union([z.literal("damaged"), z.literal("late")])'),
  inService("a literal list for an enum", 'z.enum(["damaged", "late"])', 'z.literal(["damaged", "late"])'),
  inService("order of values", 'z.enum(["damaged", "late"])', 'z.enum(["late", "damaged"])'),
  inService("order of formats", 'z.enum(["csv", "json"])', 'z.enum(["json", "csv"])'),
  inService(
    "order of members",
    "id: z.string(),\n    amount: z.number(),\n    card",
    "amount: z.number(),\n    id: z.string(),\n    card",
  ),
  inService(
    "order of arguments",
    'days: z.number().int().min(1).max(365), format: z.enum(["csv", "json"]).default("csv")',
    'format: z.enum(["csv", "json"]).default("csv"), days: z.number().int().min(1).max(365)',
  ),
  inService("z.int", "z.number().int().min(1).max(50)", "z.int().min(1).max(50)"),
  inService("min after max", "min(1).max(365)", "max(365).min(1)"),
  inService(
    "an extracted schema",
    'reason: z.enum(["damaged", "late"])',
    'reason: z.enum(["damaged", "late"] as const)',
  ),
  inService("nonempty", "z.string().min(1).max(8)", "z.string().nonempty().max(8)"),
  inService(
    "union for nullable",
    "z.number().int().min(0).max(1000).nullable()",
    "z.union([z.number().int().min(0).max(1000), z.null()])",
  ),
  inService("strictObject for object", "output: z.object({ hours", "output: z.strictObject({ hours"),
  inService(
    "strict for strictObject",
    "z.strictObject({ user: z.string().regex(/^[a-z]{3,8}$/), confirm: z.literal(true) })",
    "z.object({ user: z.string().regex(/^[a-z]{3,8}$/), confirm: z.literal(true) }).strict()",
  ),
  inService("min and max for length", "z.string().length(2)", "z.string().min(2).max(2)"),
  inService("a list of types", 'text: { type: "string", minLength: 3 }', 'text: { type: ["string"], minLength: 3 }'),
  inService(
    "members of raw JSON Schema",
    'properties: { text: { type: "string", minLength: 3 }, page: { type: "integer", minimum: 0, maximum: 20 } },',
    'properties: { page: { type: "integer", minimum: 0, maximum: 20 }, text: { type: "string", minLength: 3 } },',
  ),
  inService("another default", '.default("csv")', '.default("json")'),
  inService(
    "a definition",
    'items: {\n          type: "object",\n          properties: {',
    'items: {\n          title: "Customer",\n          type: "object",\n          properties: {',
  ),
  inService(
    "order of a mark's roles",
    'visibleTo(z.number(), ["lead", "boss"])',
    'visibleTo(z.number(), ["boss", "lead"])',
  ),
  inService(
    "order of branches",
    'z.object({ kind: z.literal("file"), url: z.string() }),\n      z.object({ kind: z.literal("rows"), rows: z.number(), secret: visibleTo(z.string(), ["boss"]) }),',
    'z.object({ kind: z.literal("rows"), rows: z.number(), secret: visibleTo(z.string(), ["boss"]) }),\n      z.object({ kind: z.literal("file"), url: z.string() }),',
  ),
  inService("an exclusive bound of integers", "z.number().int().min(1).max(50)", "z.number().int().gt(0).lt(51)"),
  inService("zod's catchall", "output: z.object({ ok: z.boolean() })", "output: z.object({ ok: z.boolean() }).strip()"),
];

const ORDER: Edit[] = [
  inService(
    "order of roles",
    'roles: ["staff", "lead", "boss"],\n  effect: "write"',
    'roles: ["boss", "staff", "lead"],\n  effect: "write"',
  ),
  inService(
    "order of the roles of the service",
    'roles: ["guest", "staff", "lead", "boss"],\n  defaultRole',
    'roles: ["boss", "lead", "staff", "guest"],\n  defaultRole',
  ),
  inService("order of functions", "exportReport, listHours]", "listHours, exportReport]"),
  inService("order of approvers", 'by: ["lead", "boss"],', 'by: ["boss", "lead"],'),
  inService("another notation of a time", 'expiresIn: "2h"', 'expiresIn: "120m"'),
  inService("a role twice", 'roles: ["staff", "boss"]', 'roles: ["staff", "boss", "boss"]'),
  inService("order of effect", 'roles: ["staff", "boss"],', 'effect: "write",\n  roles: ["staff", "boss"],'),
  inService("another timeout", 'roles: ["staff", "boss"],', 'timeoutMs: 5_000,\n  roles: ["staff", "boss"],'),
  inService(
    "a new case that is allowed",
    'own: { input: { order: "a" }, context: { userId: "ada" } },\n    foreign',
    'own: { input: { order: "a" }, context: { userId: "ada" } },\n    another: { input: { order: "b" }, context: { userId: "ben" } },\n    foreign',
  ),
  inService(
    "a new case that is denied",
    'anonymous: { input: { order: "a" } },',
    'anonymous: { input: { order: "a" } },\n    unknown: { input: { order: "z" }, context: { userId: "ada" } },',
  ),
];

/** Changes that let no role call, pass or see more: of texts, layout and order, refactorings, and narrowings. */
export const HARMLESS: readonly Edit[] = [TEXTS, CODE, SCHEMAS, ORDER, NARROWINGS].flat();
