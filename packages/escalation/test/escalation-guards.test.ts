import type { ModelProvider } from "@patchbay/control-plane";
import { type JsonValue, present } from "@patchbay/kit";
import { scriptedModel } from "@patchbay/test-kit/scripted-model";
import type { Adapter } from "@patchbay/test-kit/test-client";
import { expect, test } from "vitest";
import { z } from "zod";
import { type CallHook, defineFunction, defineService, everyone, type Service } from "@patchbay/runtime";
import { type Attack, unpinnedWithout } from "../src/attacks/attack.ts";
import type { Fixture } from "../src/fixture.ts";
import { WITHHOLD } from "../src/instrument.ts";
import { ADAPTER_ATTACKS, attackService, runEscalationSuite } from "../src/suite.ts";

type Seen = Parameters<CallHook<object>>[0];

/** A desk whose hook sees each call and refuses refunds. Its handlers say whether the hook saw their call first. */
function guardedDesk() {
  const seen = new WeakMap<object, Seen>();
  const ran: { name: string; before: Seen | undefined; role: string | undefined }[] = [];
  let refused = 0;
  const define = (name: string, more: { roles: readonly string[] | typeof everyone; approval?: { by: string[] } }) =>
    defineFunction({
      name,
      description: "Does it.",
      input: z.object({ order: z.string().default("1") }),
      ...more,
      handler(input, { role }) {
        ran.push({ name, before: seen.get(input), role });
        return "done";
      },
    });
  const service = defineService({
    name: "desk",
    roles: ["customer", "manager"],
    flows: { mode: "report" },
    functions: [
      define("get_order", { roles: ["customer", "manager"] }),
      define("cancel_order", { roles: ["customer", "manager"], approval: { by: ["manager"] } }),
      define("refund", { roles: ["customer", "manager"] }),
      define("approved_refund", { roles: ["customer"], approval: { by: ["manager"] } }),
      define("erase", { roles: ["manager"] }),
      define("hours", { roles: everyone }),
    ],
    beforeCall(review) {
      seen.set(review.input as object, review);
      if (!review.functionName.endsWith("refund")) return undefined;
      refused++;
      return { refuse: "No refunds today." };
    },
  });
  return { service, ran, refused: () => refused };
}

test("no attack runs a handler past the hook before calls, or a call that it refuses", async () => {
  const { service, ran, refused } = guardedDesk();

  const { findings, attempts } = await runEscalationSuite(service, { serve: () => service });

  expect(findings).toEqual([]);
  expect(attempts).toBeGreaterThan(1_000);
  expect(refused()).toBeGreaterThan(50);
  expect(ran.length).toBeGreaterThan(100);
  expect(ran.filter(({ name, before, role }) => before?.functionName !== name || before.role !== role)).toEqual([]);
  expect(new Set(ran.map(({ name }) => name))).toEqual(new Set(["get_order", "cancel_order", "erase", "hours"]));
});

test.each([
  ["chat completions", false],
  ["chats", false],
  ["queries of MCP", false],
  ["calls of MCP", true],
])("the hook reads of the calls in the attack '%s' that direct is %s", async (name, direct) => {
  const { service, ran } = guardedDesk();
  const attacks = ADAPTER_ATTACKS.filter((attack) => attack.name === name);

  await attackService(service, { attacks, serve: () => service });

  expect(ran.length).toBeGreaterThan(3);
  expect(new Set(ran.map(({ before }) => before?.labels?.direct))).toEqual(new Set([direct]));
});

/** Endpoints, at which a client reads what a run shows. */
const DOORS: Record<string, Adapter | undefined> = {
  "query-stream": undefined,
  "chat completions": {
    path: "/v1/chat/completions",
    request: ({ query, role }, agentId) => ({
      body: {
        model: role === undefined ? agentId : `${agentId}:${role}`,
        messages: [{ role: "user", content: query }],
        stream: true,
      },
      headers: {},
    }),
  },
  chats: {
    path: "/ui-stream?reasoning=1",
    request: ({ query, sessionId = "" }) => ({
      body: { id: sessionId, messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: query }] }] },
      headers: {},
    }),
  },
  "queries of MCP": {
    path: "/mcp?expose=agent",
    answersAtEnd: true,
    request: ({ query }) => ({
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask_test", arguments: { query } } },
      headers: { accept: "application/json, text/event-stream" },
    }),
  },
};

/** A model that calls everything, repeats each result in its thoughts and its answer, and has both replaced by the hook. */
function repeating(fixture: Fixture, attempts: readonly { name: string; input: JsonValue }[]): ModelProvider {
  return scriptedModel(({ messages }) => {
    const read = messages.flatMap((message) => (message.role === "results" ? message.results : []));
    const text = `${WITHHOLD.replace} ${fixture.canaries.wordsIn(JSON.stringify(read)).join(" ")}`;
    const turn = { text, thoughts: [text] };
    return read.length === 0 ? { ...turn, calls: attempts } : turn;
  });
}

/** Looks for each result, also those of the role's own calls, where a client reads a run whose answer the hook replaced. */
const withheldResults: Attack = {
  name: "results that a hook withholds",
  risks: ["ASI02"],
  async run(fixture, role, label) {
    const attempts = fixture.targets(role).permitted.map(({ functionName: name, input }) => ({ name, input }));
    for (const [door, adapter] of Object.entries(DOORS)) {
      const query = { ...label, ...unpinnedWithout(role), ...present({ adapter }), attempts };
      const asked = await fixture.ask({ ...query, model: repeating(fixture, attempts) });
      const { answer, events, history, received } = asked!;
      for (const { origin, path } of fixture.canaries.find({ answer, events, history, received }))
        fixture.report(label, "leaked", `${door}: a ${origin.kind} of ${origin.functionName} is in ${path}`);
    }
  },
};

function withholdingDesk(): Service {
  const define = (name: string, roles: readonly string[]) =>
    defineFunction({
      name,
      description: "Returns it.",
      input: z.object({}),
      output: z.object({ iban: z.string(), notes: z.array(z.string()) }),
      roles,
      effect: "read",
      handler: () => ({ iban: "", notes: [] }),
    });
  return defineService({
    name: "bank",
    functions: [define("get_customer", ["clerk", "manager"]), define("get_account", ["manager"])],
    beforeAnswer: () => undefined,
    results: "withhold",
  });
}

test("no client reads a result whose answer the hook replaces", async () => {
  const { findings, results } = await attackService(withholdingDesk(), { attacks: [withheldResults] });

  expect(findings).toEqual([]);
  expect(results.map(({ role, attempts }) => [role, attempts])).toEqual([
    ["clerk", 4],
    ["manager", 8],
    [null, 0],
  ]);
});

test("results without their mark are found at each endpoint", async () => {
  const serve = (service: Service): Service => ({
    ...service,
    async invoke(call, options) {
      const { flow: _, ...outcome } = await service.invoke(call, options);
      return outcome;
    },
  });

  const { findings } = await attackService(withholdingDesk(), { attacks: [withheldResults], serve });

  const doors = findings.filter(({ role }) => role === "clerk").map(({ detail }) => detail.split(":")[0]);
  expect(new Set(doors)).toEqual(new Set(Object.keys(DOORS)));
});
