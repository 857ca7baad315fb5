import { readFileSync } from "node:fs";
import { evidenceOf } from "@patchbay/access";
import {
  approvalIdOf,
  type CallFlow,
  type CallFrame,
  type CallOutcome,
  type FlowEvidence,
  type FlowFault,
  type GrantedApproval,
} from "@patchbay/protocol";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, type FlowOptions, secret, untrusted } from "../../src/index.ts";
import { plane, runtimeOf } from "../connection/hand-plane.ts";

const [KEY, OTHER_KEY] = ["k".repeat(32), "o".repeat(32)];
const DENY: FlowOptions = { mode: "deny" };
const ASK: FlowOptions = { mode: "ask", by: ["manager"] };
const text = z.string();

function bank(flows: FlowOptions) {
  const ran: string[] = [];
  const notes: string[] = [];
  const of = { description: "Does it.", roles: ["clerk", "manager"], effect: "read" } as const;
  const functions = [
    defineFunction({
      ...of,
      name: "read_inbox",
      input: z.object({}),
      output: z.array(z.object({ id: text, account: untrusted(text) })),
      handler: () => [{ id: "mail-1", account: "acc-666" }],
    }),
    defineFunction({
      ...of,
      name: "find_contact",
      input: z.object({ name: text }),
      output: z.object({ name: text, account: text }),
      handler: ({ name }) => ({ name, account: `acc-of-${name.toLowerCase()}` }),
    }),
    defineFunction({
      ...of,
      name: "get_profile",
      input: z.object({}),
      output: z.object({ email: text, code: secret(text) }),
      handler: () => ({ email: "ida@example.com", code: "4111" }),
    }),
    defineFunction({
      ...of,
      name: "write_note",
      effect: "write",
      input: z.object({ note: text }),
      handler: ({ note }) => void notes.push(note),
    }),
    defineFunction({ ...of, name: "read_notes", input: z.object({}), handler: () => notes }),
    defineFunction({ ...of, name: "echo", input: z.object({ text }), handler: (given) => given }),
    defineFunction({
      ...of,
      name: "pay_bill",
      effect: "destructive",
      input: z.object({ account: text }),
      targets: { account: "trusted" },
      handler: ({ account }) => void ran.push(account),
    }),
    defineFunction({
      ...of,
      name: "send_mail",
      effect: "destructive",
      input: z.object({ to: text, body: text }),
      targets: { to: "trusted" },
      sends: ["body"],
      handler: ({ to }) => void ran.push(to),
    }),
  ];
  return { ran, service: defineService({ name: "bank", functions, flows }) };
}

/** A real runtime of the bank, connected to a control plane that says what a test makes it say. */
async function startBank(flows: FlowOptions, key = KEY) {
  const { service, ran } = bank(flows);
  const started = await plane();
  runtimeOf(started.url, service, { flowKeys: [key] });
  const connection = await started.welcome();
  let calls = 0;
  /** Delivers a call and returns its outcome. */
  async function deliver(change: Partial<CallFrame>): Promise<{ frame: CallFrame; outcome: CallOutcome }> {
    const frame = callFrame(`call_${(calls += 1)}`, { role: "clerk", ...change });
    connection.send(frame);
    const { outcome } = await connection.next("result");
    connection.send({ type: "resultAck", callId: frame.callId });
    return { frame, outcome };
  }
  /** Calls a function as an honest control plane does, and returns what the result gives to later calls. */
  async function evidence(name: string, given = {}, change: Partial<CallFrame> = {}): Promise<FlowEvidence> {
    const { frame, outcome } = await deliver({ function: name, arguments: given, ...change });
    expect(outcome).toMatchObject({ ok: true, flow: { tag: expect.any(String) } });
    return evidenceOf({ ...frame, functionName: name, outcome });
  }
  return { ran, deliver, evidence };
}

type Bank = Awaited<ReturnType<typeof startBank>>;

/** What the thread has received. */
async function receive({ evidence }: Bank) {
  const mail = await evidence("read_inbox");
  const bob = await evidence("find_contact", { name: "Bob" });
  const eve = await evidence("find_contact", { name: "Eve" }, { threadId: "thread of Eve", runId: "run of Eve" });
  const profile = await evidence("get_profile");
  const echo = await evidence("echo", { text: "acc-666" });
  await evidence("write_note", { note: "acc-9" });
  const notes = await evidence("read_notes");
  const other = await (await startBank(DENY, OTHER_KEY)).evidence("find_contact", { name: "Mallory" });
  return { mail, bob, eve, profile, echo, notes, other };
}
type Received = Awaited<ReturnType<typeof receive>>;

const WORDS = "Read my mail, then pay Bob. Is acc-771 fraud?";
const told = (change: Partial<CallFlow> = {}): CallFlow => ({
  words: [WORDS],
  results: [],
  tainted: false,
  secret: false,
  asks: false,
  ...change,
});
const values = (...accounts: string[]): FlowEvidence["records"] =>
  evidenceOf({ runId: "", callId: "", functionName: "", arguments: {}, outcome: { ok: true, value: accounts } })
    .records;
const pay = (account: string, flow?: CallFlow, change: Partial<CallFrame> = {}): Partial<CallFrame> => ({
  function: "pay_bill",
  arguments: { account },
  ...(flow && { flow }),
  ...change,
});
/** A payment that a result seems to allow. */
const payBy = (account: string, result: FlowEvidence, change: Partial<FlowEvidence> = {}): Partial<CallFrame> =>
  pay(account, told({ results: [{ ...result, ...change }] }));
const mailIda = (change: Partial<CallFlow>): Partial<CallFrame> => ({
  function: "send_mail",
  arguments: { to: "ida@example.com", body: "4111" },
  flow: told({ words: ["Mail ida@example.com my code."], ...change }),
});
/** A second delivery of `call_pay` with the decision of a manager. */
const approved = (change: Partial<GrantedApproval> = {}): Partial<CallFrame> => ({
  callId: "call_pay",
  attempt: 2,
  approval: {
    approvalId: approvalIdOf("call_pay"),
    argumentsHash: argumentsHash({ account: "acc-666" }),
    decidedAs: "manager",
    decidedBy: "key_manager",
    requestedBy: "key_clerk",
    decidedAt: "2026-11-23T10:00:00.000Z",
    ...change,
  },
});

type Lie = [what: string, call: (received: Received) => Partial<CallFrame>];

/** Lies that do not help, and the rule by which the runtime refuses the call, if not by that of targets. */
const USELESS: [...Lie, rule?: FlowFault["rule"]][] = [
  ["says nothing about the run, as an old one", () => pay("acc-of-bob")],
  ["leaves out the result", () => pay("acc-of-bob", told())],
  ["leaves out the tag", ({ bob }) => payBy("acc-of-bob", bob, { tag: undefined })],
  ["sends an empty tag", ({ bob }) => payBy("acc-of-bob", bob, { tag: "" })],
  ["invents a tag", ({ bob }) => payBy("acc-of-bob", bob, { tag: "A".repeat(43) })],
  ["makes a tag with its own key", ({ other }) => payBy("acc-of-mallory", other)],
  ["sends a result of another thread", ({ eve }) => payBy("acc-of-eve", eve)],
  ["gives a result to another run", ({ bob }) => payBy("acc-of-bob", bob, { runId: "run_9" })],
  ["gives a result to another call", ({ bob }) => payBy("acc-of-bob", bob, { callId: "c_9" })],
  ["gives a result to another function", ({ bob }) => payBy("acc-of-bob", bob, { functionName: "read_notes" })],
  ["puts another value into a result", ({ bob }) => payBy("acc-666", bob, { records: values("Bob", "acc-666") })],
  [
    "adds a record to a result",
    ({ bob }) => payBy("acc-666", bob, { records: [...bob.records, ...values("acc-666")] }),
  ],
  [
    "removes the label from a mail",
    ({ mail }) => payBy("acc-666", mail, { untrusted: [], records: values("acc-666") }),
  ],
  [
    "gives a mail the tag of a trusted result",
    ({ mail, bob }) => payBy("acc-666", mail, { untrusted: [], records: values("acc-666"), tag: bob.tag! }),
  ],
  ["hides that a result repeats its question", ({ echo }) => payBy("acc-666", echo, { asked: [] })],
  [
    "removes the label from a mail of which it uses another member",
    ({ mail }) => payBy("mail-1", mail, { untrusted: [] }),
  ],
  [
    "removes the label from a secret next to the address that it uses",
    ({ profile }) => mailIda({ words: [], results: [{ ...profile, secret: [] }] }),
  ],
  ["says that a run with a mail is not tainted", ({ mail }) => payBy("acc-771", mail), "mention"],
  ["says that a run with a secret has none", ({ profile }) => mailIda({ results: [profile] }), "secret"],
  ["claims an approval, where the service only denies", () => pay("acc-666", told(), approved())],
];

test.each(USELESS)("a runtime refuses the call of a control plane that %s", async (_, lie, rule = "target") => {
  const desk = await startBank(DENY);

  const { outcome } = await desk.deliver(lie(await receive(desk)));

  expect(outcome).toMatchObject({ code: "denied", rule: "flow", flowFault: { rule } });
  expect(desk.ran).toEqual([]);
});

/** Lies that a runtime cannot recognise, after the words of the guide about them. */
const STATED: [guide: string, ...Lie][] = [
  ["invent what the caller wrote: a query", "invents a query", () => pay("acc-666", told({ words: ["Pay acc-666."] }))],
  ["a context", "invents a context", () => pay("acc-666", told(), { context: { account: "acc-666" } })],
  ["a direct call", "says that the caller wrote the call", () => pay("acc-666", told({ direct: true }))],
  ["hide that a run is tainted", "hides the mail", () => pay("acc-771", told())],
  ["has received a secret", "hides the secret", () => mailIda({})],
  ["what tainted runs wrote", "hides a write", ({ notes }) => payBy("acc-9", notes)],
  [
    "repeat an older result of the thread",
    "repeats a result",
    ({ bob }) => ({ ...payBy("acc-of-bob", bob), runId: "a later run" }),
  ],
  [
    "as if it were in another thread",
    "moves a call to another thread",
    ({ eve }) => pay("acc-of-eve", told({ results: [eve] }), { threadId: "thread of Eve" }),
  ],
];

const guide = readFileSync(new URL("../../../../docs/guides/data-flow.md", import.meta.url), "utf8");
const POWERS = guide.slice(guide.indexOf("It can\n"), guide.indexOf("It cannot"));

test.each(STATED)("the guide says '%s' of a control plane that %s", async (words, _, lie) => {
  const desk = await startBank(DENY);

  const { outcome } = await desk.deliver(lie(await receive(desk)));

  expect(outcome).toMatchObject({ ok: true });
  expect(desk.ran).toHaveLength(1);
  expect(POWERS).toContain(words);
});

const other = pay("acc-999").arguments!;
const FORGED: [what: string, Partial<CallFrame>][] = [
  ["for other arguments", { ...approved(), arguments: other }],
  ["for other arguments, with their hash", { ...approved({ argumentsHash: argumentsHash(other) }), arguments: other }],
  ["of another call", approved({ approvalId: approvalIdOf("call_9") })],
  ["by a role that may not decide", approved({ decidedAs: "clerk" })],
  ["by the sender of the query", approved({ decidedBy: "key_clerk" })],
  ["with changed arguments", approved({ edited: { account: "acc-999" } })],
];

test.each(FORGED)("a runtime that asks refuses an approval %s", async (_, lie) => {
  const desk = await startBank(ASK);
  const asked = await desk.deliver(pay("acc-666", told(), { callId: "call_pay" }));

  const { outcome } = await desk.deliver({ ...pay("acc-666", told()), ...lie });

  expect(asked.outcome).toMatchObject({ code: "approval_required", flowFault: { rule: "target" } });
  expect(outcome).toMatchObject({ code: "denied", rule: "approval" });
  expect(desk.ran).toEqual([]);
});

test("a runtime that asks refuses an approval that comes with the first delivery", async () => {
  const desk = await startBank(ASK);

  const { outcome } = await desk.deliver(pay("acc-666", told(), { ...approved(), attempt: 1 }));

  expect(outcome).toMatchObject({ code: "denied", rule: "approval" });
  expect(desk.ran).toEqual([]);
});

test("the guide says that a control plane can invent the approval of a person who may decide", async () => {
  const desk = await startBank(ASK);

  const { outcome } = await desk.deliver(pay("acc-666", told(), approved()));

  expect(outcome).toMatchObject({ ok: true });
  expect(POWERS).toContain("pretend that a person with a role in `by` approved a call");
});

test("what an honest control plane sends lets a trusted value pass, and no other", async () => {
  const desk = await startBank(DENY);
  const { bob, mail, notes } = await receive(desk);
  const note = notes.records[0]!.values;
  const calls = [
    payBy("acc-of-bob", bob),
    pay("acc-666", told({ results: [mail], tainted: true })),
    pay("acc-9", told({ results: [notes], written: note })),
  ];

  for (const call of calls) await desk.deliver(call);

  expect(desk.ran).toEqual(["acc-of-bob"]);
});
