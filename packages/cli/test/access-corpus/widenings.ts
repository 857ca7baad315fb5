import { inFile, inService, type Edit } from "./edits.ts";
import { WIDENED_SCHEMAS } from "./widened-schemas.ts";

const policy = (name: string, from: string, to: string) => inFile("policy", name, from, to);
const limits = (name: string, from: string, to: string) => inFile("limits", name, from, to);
const records = (name: string, from: string, to: string) => inFile("records", name, from, to);

const ROLES: Edit[] = [
  inService(
    "guests refund",
    'roles: ["staff", "lead", "boss"],\n  effect: "write"',
    'roles: ["guest", "staff", "lead", "boss"],\n  effect: "write"',
  ),
  inService(
    "everyone refunds",
    'roles: ["staff", "lead", "boss"],\n  effect: "write"',
    'roles: "everyone",\n  effect: "write"',
  ),
  inService(
    "everyone reads orders",
    'roles: ["guest", "staff", "lead", "boss"],\n  effect: "read"',
    'roles: "everyone",\n  effect: "read"',
  ),
  inService(
    "guests list orders",
    'roles: ["staff", "lead", "boss"],\n  effect: "read"',
    'roles: ["guest", "staff", "lead", "boss"],\n  effect: "read"',
  ),
  inService(
    "leads close accounts",
    'roles: ["boss"],\n  effect: "destructive"',
    'roles: ["boss", "lead"],\n  effect: "destructive"',
  ),
  inService(
    "staff searches customers",
    'roles: ["lead", "boss"],\n  effect: "read",\n  handler: () => ({ found',
    'roles: ["staff", "lead", "boss"],\n  effect: "read",\n  handler: () => ({ found',
  ),
  inService("leads change addresses", 'roles: ["staff", "boss"]', 'roles: ["staff", "lead", "boss"]'),
  inService(
    "staff exports",
    'roles: ["lead", "boss"],\n  effect: "read",\n  authorize',
    'roles: ["lead", "boss", "staff"],\n  effect: "read",\n  authorize',
  ),
  inService(
    "a new function",
    "exportReport, listHours]",
    'exportReport, listHours, defineFunction({ name: "dump", description: "x", input: z.object({}), roles: ["staff"], handler: () => null })]',
  ),
];

export const AUTHORIZE: readonly Edit[] = [
  inService(
    "an operand that no case reaches",
    "return isOwn(input.order, context) && isWithin(input.amount);",
    "return (isOwn(input.order, context) && isWithin(input.amount)) || input.amount > 50;",
  ),
  inService(
    "or for and",
    "isOwn(input.order, context) && isWithin(input.amount)",
    "isOwn(input.order, context) || isWithin(input.amount)",
  ),
  inService("no amount", " && isWithin(input.amount)", ""),
  inService("no owner", "isOwn(input.order, context) && isWithin", "isWithin"),
  inService("no block", "if (isBlocked(context)) return false;", ""),
  inService(
    "leads pass",
    'if (role === "boss") return true;\n    return isOwn',
    'if (role !== "staff") return true;\n    return isOwn',
  ),
  inService(
    "a user passes",
    'if (role === "boss") return true;\n    return isOwn',
    'if (role === "boss" || context.userId === "root") return true;\n    return isOwn',
  ),
  inService(
    "an early return",
    "if (isBlocked(context)) return false;",
    'if (input.reason === "damaged") return true;\n    if (isBlocked(context)) return false;',
  ),
  inService("true for all", "return isOwn(input.order, context) && isWithin(input.amount);", "return true;"),
  inService("authorize is removed", 'authorize: createAddressRule(["de", "fr"]),', ""),
  inService("leads read all orders", "return isSameTeam(input.order, context);", "return true;"),
  inService(
    "leads read without a team",
    "return isSameTeam(input.order, context);",
    "return isSameTeam(input.order, context) || context.team === undefined;",
  ),
  inService(
    "a fallen switch",
    'case "boss":\n        return true;',
    'case "boss":\n      case "staff":\n        return true;',
  ),
  inService("a truthy default", '|| "Only your own orders."', "|| context.userId === undefined"),
  inService("another country", '["de", "fr"]', '["de", "fr", "us"]'),
  inService("more days", "new ExportPolicy(30)", "new ExportPolicy(90)"),
  inService("days are not judged", "exportPolicy.allows(input.days, context)", "exportPolicy.allows(1, context)"),
  inService(
    "a user is assumed",
    "exportPolicy.allows(input.days, context)",
    'exportPolicy.allows(input.days, { userId: context.userId ?? "ada" })',
  ),
  policy(
    "any owner",
    "userId !== undefined && ownerOf(order) === userId",
    "userId === undefined || ownerOf(order) === userId",
  ),
  policy("an unknown order is own", "ownerOf(order) === userId;", "(ownerOf(order) ?? userId) === userId;"),
  policy("two unknown teams are equal", "team !== undefined && team === teamOf(userId)", "team === teamOf(userId)"),
  policy("negative amounts", "amount > 0 && amount", "amount"),
  policy("a bound that is off by one", "amount <= MOST_REFUND", "amount < MOST_REFUND + 1"),
  policy(
    "only callers without an id are blocked",
    "userId !== undefined && BLOCKED.includes(userId)",
    "userId === undefined && BLOCKED.includes(String(userId))",
  ),
  policy(
    "days are compared the other way",
    "if (days > this.#days) return false;",
    "if (days < this.#days) return true;",
  ),
  policy("exporters that are false", "EXPORTERS[userId] === true", "EXPORTERS[userId] !== undefined"),
  policy("anonymous exporters", "return userId !== undefined && EXPORTERS", "return userId === undefined || EXPORTERS"),
  policy(
    "staff changes all addresses",
    'if (role === "boss") return true;\n    if (!countries',
    "if (role) return true;\n    if (!countries",
  ),
  policy(
    "foreign addresses",
    "return isOwn(input.order, context);",
    'return isOwn(input.order, context) || input.address.country === "fr";',
  ),
  policy("countries are not judged", "if (!countries.includes(input.address.country)) return false;", ""),
  limits("larger refunds", "MOST_REFUND = 100", "MOST_REFUND = 1000"),
  limits("fewer blocked users", '["eve"]', "[]"),
  limits("another exporter", "ben: false", "ben: true"),
  limits("a new exporter", "ben: false", "ben: false, eve: true"),
  records("an order of everyone", "return owners[order];", 'return owners[order] ?? "ada";'),
  records("another team", '["ben", "south"]', '["ben", "north"]'),
  records("one team for all", "teams.get(user)", 'teams.get("ada")'),
  records("a new owner", 'c: "cid"', 'c: "ada"'),
  records("changed owners", "export function countOrders", 'owners["b"] = "ada";\nexport function countOrders'),
];

const SERVICE: Edit[] = [
  inService("a stronger default role", 'defaultRole: "guest"', 'defaultRole: "boss"'),
  inService("staff by default", 'defaultRole: "guest"', 'defaultRole: "staff"'),
  inService("no subject", "subject: ({ userId }) => userId,", ""),
  inService("a constant subject", "subject: ({ userId }) => userId,", 'subject: () => "all",'),
  inService("a coarser subject", "subject: ({ userId }) => userId,", "subject: ({ team }) => team,"),
  inService(
    "a subject for some",
    "subject: ({ userId }) => userId,",
    'subject: ({ userId }) => (userId === "zoe" ? "ada" : userId),',
  ),
  inService(
    "another team in the context",
    'team: z.enum(["north", "south"])',
    'team: z.enum(["north", "south", "all"])',
  ),
  inService("an open context", "const context = z.object({", "const context = z.looseObject({"),
  inService("longer users", "userId: z.string().max(40)", "userId: z.string()"),
  inService(
    "a new member of the context",
    "userId: z.string().max(40)",
    "admin: z.boolean().optional(),\n  userId: z.string().max(40)",
  ),
  inService(
    "no hook",
    'beforeQuery: ({ query }) => (query.includes("password") ? { refuse: "Send no passwords." } : undefined),',
    "",
  ),
  inService("no approval", 'approval: { by: ["boss"], expiresIn: "1h" },', ""),
  inService("staff approves", 'by: ["lead", "boss"],', 'by: ["staff", "lead", "boss"],'),
  inService("the caller confirms", 'by: ["boss"], expiresIn', 'by: ["boss", "caller"], expiresIn'),
  inService("an approver edits amounts", 'edit: ["note"]', 'edit: ["note", "amount"]'),
  inService("two eyes", 'edit: ["note"]', 'edit: ["note"],\n    fourEyes: false'),
  inService("approvals that last", 'expiresIn: "2h"', 'expiresIn: "20d"'),
  inService(
    "some closes",
    'approval: { by: ["boss"], expiresIn: "1h" }',
    'approval: { by: ["boss"], expiresIn: "1h", when: ({ input }) => input.user === "ada" }',
  ),
  inService(
    "fewer reviews",
    "when: ({ input }) => input.amount > REVIEW_ABOVE",
    "when: ({ input }) => input.amount > REVIEW_ABOVE + 45",
  ),
  limits("a higher limit of reviews", "REVIEW_ABOVE = 50", "REVIEW_ABOVE = 95"),
  inService("a weaker effect", 'effect: "destructive"', 'effect: "read"'),
  inService("a refund that reads", 'effect: "write"', 'effect: "read"'),
  inService("a refund that runs twice", 'effect: "write",', 'effect: "write",\n  idempotent: true,'),
  inService("a removed refused case", '    anonymous: { input: { order: "a" } },\n', ""),
];

/** Changes that let a role call, pass or see more, or let more calls run without an approval. */
export const WIDENINGS: readonly Edit[] = [ROLES, AUTHORIZE, WIDENED_SCHEMAS, SERVICE].flat();
