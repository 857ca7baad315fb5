import { type AnswerHook, defineFunction, defineService, FunctionError } from "@patchbay/functions";
import type { QueryResponse, RunEvent } from "@patchbay/protocol";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { expect, test } from "vitest";
import { z } from "zod";
import { signIn } from "../support/console.ts";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

const IBAN = "DE02120300000000202051";
const CALLS = [{ name: "get_customer" }, { name: "get_balance" }];
const WITHHELD = expect.stringMatching(/^Results are withheld/);

/** Returns, reports and throws the IBAN. */
function bankOf(beforeAnswer: AnswerHook<object>, options: { results?: "withhold"; askFirst?: boolean } = {}) {
  const { results = "withhold", askFirst = false } = options;
  const base = { input: z.object({}), roles: "everyone" as const, effect: "read" as const };
  const functions = [
    defineFunction({
      ...base,
      name: "get_customer",
      description: "Returns a customer.",
      output: z.object({ iban: z.string() }),
      handler(_, { progress }) {
        progress({ message: IBAN });
        return { iban: IBAN };
      },
    }),
    defineFunction({
      ...base,
      name: "get_balance",
      description: "Returns a balance.",
      handler() {
        throw new FunctionError(`${IBAN} has no balance.`);
      },
    }),
    defineFunction({
      ...base,
      name: "close_account",
      description: "Closes an account.",
      roles: ["user"],
      approval: { by: ["caller"] },
      handler: () => null,
    }),
  ];
  const service = defineService({ name: "bank", functions, beforeAnswer, ...(results && { results }) });
  const calls = askFirst ? [...CALLS, { name: "close_account" }] : CALLS;
  return startContractSystem(
    callThenAnswer(calls, () => `It is ${IBAN}.`),
    {
      connected: false,
      service,
    },
  );
}

const masks: AnswerHook<object> = ({ answer }) =>
  answer.includes(IBAN) ? { replace: answer.replaceAll(IBAN, "(withheld)") } : undefined;
const refuses: AnswerHook<object> = ({ answer }) => (answer.includes(IBAN) ? { refuse: "No." } : undefined);
const fails: AnswerHook<object> = ({ answer }) => {
  if (answer.includes(IBAN)) throw new Error("The hook is broken.");
  return undefined;
};
const passes: AnswerHook<object> = () => undefined;

const ACCEPT = { accept: "application/json, text/event-stream" };
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const asked = (text: string) => ({ id: "chat", messages: [{ role: "user", parts: [{ type: "text", text }] }] });

/** Everything that a client reads at each door. */
const DOORS: Record<string, (system: ContractSystem, path: string) => Promise<string>> = {
  query: async (system) => JSON.stringify(await system.query("hi")),
  "query-stream": async (system) => (await system.stream("hi", { includeDeltas: true })).text,
  "the local variant": async (system) => (await system.local("hi", { include_deltas: true })).text,
  "a resumed stream": async (system, path) => {
    const { headers } = await system.stream("hi");
    return (await system.get(`${path}/runs/${headers.get("x-run-id")}/events`)).text();
  },
  "a run": async (system, path) => {
    const { runId } = await system.query("hi");
    return (await system.get(`${path}/runs/${runId}`)).text();
  },
  "an OpenAI stream": async (system, path) => {
    const messages = [{ role: "user", content: "hi" }];
    return (await system.post(`${path}/v1/chat/completions`, { model: system.agentId, messages, stream: true })).text();
  },
  "an OpenAI answer": async (system, path) => {
    const messages = [{ role: "user", content: "hi" }];
    return (await system.post(`${path}/v1/chat/completions`, { model: system.agentId, messages })).text();
  },
  "a UI message stream": async (system, path) => (await system.post(`${path}/ui-stream`, asked("hi"))).text(),
  "the messages of a chat": async (system, path) => {
    await (await system.post(`${path}/ui-stream`, asked("hi"))).text();
    return (await system.get(`${path}/ui-stream/chat/messages`)).text();
  },
  "a thread": async (system, path) => {
    const { threadId } = await system.query("hi");
    return (await system.get(`${path}/threads/${threadId}`)).text();
  },
  "a query over MCP": async (system, path) => {
    const params = { name: "ask_desk", arguments: { query: "hi" }, _meta: { progressToken: 1 } };
    return (await system.post(`${path}/mcp?expose=agent`, rpc("tools/call", params), ACCEPT)).text();
  },
};

test.each(
  Object.entries(DOORS).flatMap(([name, door]) =>
    Object.entries({ masks, refuses, fails }).map(([hook, decide]) => [name, hook, door, decide] as const),
  ),
)("%s has no result when the hook %s", async (_, __, door, hook) => {
  await using system = await bankOf(hook);

  const text = await door(system, `/agents/${system.agentId}`);

  expect(text).not.toContain(IBAN);
  expect(text).toMatch(hook === masks ? /\(withheld\)/ : /No\.|hook|"content":"hi"/);
});

test.each(Object.entries(DOORS))("%s has the answer that the hook allows", async (_, door) => {
  await using system = await bankOf(passes);

  expect(await door(system, `/agents/${system.agentId}`)).toContain(IBAN);
});

const eventsOf = (stream: { events: readonly { data: unknown }[] }) =>
  stream.events.map(({ data }) => data as RunEvent);
const sortedCalls = ({ toolInteractions }: Pick<QueryResponse, "toolInteractions">) =>
  toolInteractions.toSorted((a, b) => (a.toolName < b.toolName ? 1 : -1));

test("the results come with the answer that the hook allows, and not before it", async () => {
  await using system = await bankOf(passes);

  const events = eventsOf(await system.stream("hi", { includeDeltas: true }));

  const final = events.at(-1) as Extract<RunEvent, { type: "finalResponse" }>;
  expect(JSON.stringify(events.slice(0, -1))).not.toContain(IBAN);
  expect(sortedCalls(final)).toMatchObject([
    { toolName: "get_customer", success: true, result: { iban: IBAN } },
    { toolName: "get_balance", success: false, errorMessage: `${IBAN} has no balance.` },
  ]);
  expect(final.warnings).toBeUndefined();
});

test("a withheld result is absent, a failure has a text of its own, and a warning says why", async () => {
  await using system = await bankOf(masks);

  const answer = await system.query("hi");

  expect(sortedCalls(answer)).toEqual([
    { toolName: "get_customer", parameters: {}, success: true },
    {
      toolName: "get_balance",
      parameters: {},
      success: false,
      errorMessage: "The function failed, and its text is withheld.",
      code: "function_failed",
    },
  ]);
  expect(answer.warnings).toEqual([WITHHELD]);
});

test("a direct call runs, and its client gets no result and no schema for one", async () => {
  await using system = await bankOf(passes);
  const send = async (method: string, params: object) =>
    (await system.post(`/agents/${system.agentId}/mcp`, rpc(method, params), ACCEPT)).text();

  const called = await send("tools/call", { name: "get_customer", arguments: {}, _meta: { progressToken: 1 } });
  const failed = await send("tools/call", { name: "get_balance", arguments: {} });

  expect(called).toContain("The function ran. Its result is withheld.");
  expect(called + failed).not.toContain(IBAN);
  expect(await send("tools/list", {})).not.toContain("outputSchema");
});

test("an answer that waits for an approval has no result", async () => {
  await using system = await bankOf(passes, { askFirst: true });

  const answer = await system.query("hi", { role: "user" });

  expect(answer).toMatchObject({ code: "approval_required", warnings: [WITHHELD] });
  expect(JSON.stringify(answer)).not.toContain(IBAN);
});

test("the console has what is withheld from clients", async () => {
  await using system = await bankOf(masks);
  const { runId } = await system.query("hi");
  const ask = await signIn(system.plane, system.orgId);

  const record = await (await ask(`/agents/${system.agentId}/runs/${runId}`)).text();

  expect(record).toContain(`"iban":"${IBAN}"`);
  expect(record).toContain(`${IBAN} has no balance.`);
});
