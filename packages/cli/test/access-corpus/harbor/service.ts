import { defineService, functionsFor } from "@patchbay/functions";
import { z } from "zod";
import { berthOf, memberOf } from "./records.ts";

const context = z.strictObject({
  memberId: z.string().optional(),
  onDuty: z.boolean().default(false),
  grade: z.number().int().default(1),
  areas: z.array(z.string()).default([]),
  zone: z.enum(["inner", "outer"]).default("outer"),
  standIn: z.string().prefault("-"),
  trained: z.boolean().optional(),
  pass: z.strictObject({ night: z.boolean().default(false) }).prefault({}),
});
const { defineFunction } = functionsFor(context);

const berth = z.string().max(20);
const IBAN = /\b[A-Z]{2}\d{20}\b/;
const hasAccount = (text: string): boolean => IBAN.test(text);

// Every member is there, so that no case shows a changed default.
const whole = { basin: "east", drill: false, tons: 5000, level: 9, crew: [{ name: "eva", diver: false }] };
const outsider = {
  memberId: "ines",
  onDuty: false,
  grade: 1,
  areas: [],
  zone: "outer",
  standIn: "-",
  trained: false,
  pass: { night: false },
};

const liftGate = defineFunction({
  name: "lift_gate",
  description: "Lifts the gate of a basin.",
  input: z.strictObject({
    basin: z.string(),
    drill: z.boolean().default(false),
    tons: z.number().default(5000),
    level: z.number().int().prefault(9),
    crew: z.array(z.strictObject({ name: z.string(), diver: z.boolean().default(false) })).default([]),
    load: z.strictObject({ toxic: z.boolean() }).optional(),
  }),
  roles: ["crew", "pilot", "warden"],
  effect: "write",
  openWorld: false,
  authorize: ({ role, context, input }) =>
    role === "warden" ||
    context.onDuty ||
    context.grade > 5 ||
    context.areas.includes("gates") ||
    (context.zone === "inner" && context.pass.night) ||
    context.standIn === "warden" ||
    context.trained === true ||
    input.drill ||
    input.tons < 10 ||
    input.level < 2 ||
    input.crew.some(({ diver }) => diver),
  cases: {
    plain: { input: whole, context: outsider },
    duty: { input: whole, context: { ...outsider, onDuty: true } },
  },
  handler: ({ basin }) => ({ basin }),
});

const logTide = defineFunction({
  name: "log_tide",
  description: "Writes a tide into the log.",
  input: z.object({
    metres: z.coerce.number().max(20),
    remark: z.string().optional(),
    source: z.enum(["gauge", "pilot"]).default("pilot"),
  }),
  roles: ["pilot", "warden"],
  effect: "write",
  authorize: ({ context, input }) => context.onDuty || input.source === "gauge" || input.remark === "drill",
  cases: {
    duty: { input: { metres: 2, source: "pilot" }, context: { ...outsider, onDuty: true } },
    pilot: { input: { metres: 2, source: "pilot" }, context: outsider },
  },
  handler: () => ({ ok: true }),
});

const showWeather = defineFunction({
  name: "show_weather",
  description: "Gets the weather report of a public site.",
  input: z.object({ place: z.string().describe("Name of a place in the harbour") }),
  roles: "everyone",
  effect: "read",
  openWorld: true,
  handler: () => ({ report: "" }),
});

const showBerth = defineFunction({
  name: "show_berth",
  description: "Gets a berth.",
  input: z.object({ berth }),
  roles: ["crew", "warden"],
  effect: "read",
  authorize: ({ role, context, input }) => {
    const shown = berthOf(input.berth);
    return role === "warden" || (shown !== undefined && shown.owner !== undefined && shown.owner === context.memberId);
  },
  handler: ({ berth: id }) => ({ id }),
});

const moveShip = defineFunction({
  name: "move_ship",
  description: "Moves a ship to a berth.",
  input: z.object({ berth }),
  roles: ["crew"],
  effect: "write",
  authorize: ({ context, input }) => {
    const target = berthOf(input.berth);
    if (target === undefined) return "No such berth.";
    if (target.state === "sealed") return false;
    return context.memberId !== undefined && target.owner === context.memberId;
  },
  handler: () => ({ ok: true }),
});

const sealBerth = defineFunction({
  name: "seal_berth",
  description: "Seals a berth.",
  input: z.object({ berth }),
  roles: ["pilot"],
  effect: "destructive",
  authorize: ({ context, input }) => {
    const sealing = berthOf(input.berth);
    const sealer = memberOf(context.memberId);
    return sealing !== undefined && sealer !== undefined && sealing.port === sealer.port && sealer.rank >= 3;
  },
  handler: () => ({ ok: true }),
});

const leaseBerth = defineFunction({
  name: "lease_berth",
  description: "Leases a berth for some days.",
  input: z.object({ berth, days: z.number().int().min(1).max(60) }),
  roles: ["crew", "pilot"],
  effect: "write",
  authorize: ({ role, context, input }) => {
    const leased = berthOf(input.berth);
    if (!leased || leased.owner !== context.memberId || context.memberId === undefined) return false;
    return role === "pilot" ? input.days <= 30 : input.days <= 7;
  },
  handler: () => ({ ok: true }),
});

const readLog = defineFunction({
  name: "read_log",
  description: "Reads the log of a berth.",
  input: z.object({ berth }),
  roles: ["crew", "pilot"],
  effect: "read",
  authorize: ({ context, input }) => {
    const logged = berthOf(input.berth);
    const reader = context.memberId;
    return reader !== undefined && (logged?.owner === reader || logged?.deputies.includes(reader) === true);
  },
  handler: () => ({ lines: [] }),
});

const dredge = defineFunction({
  name: "dredge",
  description: "Orders the dredging of a berth.",
  input: z.object({ berth, metres: z.number().max(50) }),
  roles: ["pilot"],
  effect: "write",
  authorize: ({ context, input }) => {
    const dredged = berthOf(input.berth);
    if (dredged?.owner !== context.memberId || !dredged) return false;
    return dredged.depth + input.metres <= 15;
  },
  handler: () => ({ ok: true }),
});

const nameDeputy = defineFunction({
  name: "name_deputy",
  description: "Names a deputy of a berth.",
  input: z.object({ berth, deputy: z.string() }),
  roles: ["crew"],
  effect: "write",
  authorize: ({ context, input }) => {
    const own = berthOf(input.berth);
    const named = memberOf(input.deputy);
    const isOwner = own !== undefined && context.memberId !== undefined && own.owner === context.memberId;
    return isOwner && named !== undefined && named.port === own.port && input.deputy !== context.memberId;
  },
  handler: () => ({ ok: true }),
});

const payFee = defineFunction({
  name: "pay_fee",
  description: "Pays the fee of a berth.",
  input: z.object({ berth, amount: z.number().positive() }),
  roles: ["crew", "pilot"],
  effect: "write",
  authorize: ({ context, input }) => {
    const charged = berthOf(input.berth);
    return charged?.owner !== undefined && charged.owner === context.memberId;
  },
  approval: {
    by: ["warden"],
    when: ({ input }) => berthOf(input.berth)?.state === "sealed" || input.amount > 500,
  },
  handler: () => ({ ok: true }),
});

const releaseCargo = defineFunction({
  name: "release_cargo",
  description: "Releases a cargo.",
  input: z.object({
    berth,
    note: z.string().max(300).optional(),
    code: z.string().optional(),
    count: z.number().optional(),
    weight: z.number().optional(),
    tags: z.array(z.string()).optional(),
    link: z.string().optional(),
    extra: z.record(z.string(), z.unknown()).optional(),
  }),
  roles: ["crew"],
  effect: "write",
  authorize: ({ context, input }) => {
    const { note = "", code = "", count = 0, weight = 0, tags = [], link = "", extra = {} } = input;
    const isMarked = [note, code, count, weight, tags, link, extra].includes("released");
    return input.berth === "b1" && context.memberId === "ines" && !isMarked;
  },
  cases: {
    own: { input: { berth: "b1" }, context: { memberId: "ines" } },
    foreign: { input: { berth: "b1" }, context: { memberId: "omar" } },
    other: { input: { berth: "b2" }, context: { memberId: "ines" } },
  },
  handler: () => ({ ok: true }),
});

export default defineService({
  name: "harbor",
  roles: ["crew", "pilot", "warden"],
  context,
  instructions: "Answer in one sentence. Ask before you move a ship.",
  modelContext: ({ zone }) => ({ zone }),
  subject: ({ memberId }) => memberId,
  beforeQuery: ({ query, role }) => {
    if (hasAccount(query)) return { refuse: "Send no account numbers." };
    return role === undefined && query.length > 500 ? { refuse: "Shorten the query." } : undefined;
  },
  beforeAnswer: ({ answer }) => {
    if (answer.includes("gate code")) return { refuse: "This is not for everyone." };
    return hasAccount(answer) ? { replace: answer.replace(IBAN, "[account]") } : undefined;
  },
  functions: [
    liftGate,
    logTide,
    showWeather,
    showBerth,
    moveShip,
    sealBerth,
    leaseBerth,
    readLog,
    dredge,
    nameDeputy,
    payFee,
    releaseCargo,
  ],
});
