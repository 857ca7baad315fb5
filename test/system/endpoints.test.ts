import type { AgentSettingsChange } from "@patchbay/protocol";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Script, STAND_IN_KEY, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const booking = (ran: string[]) =>
  defineService({
    name: "hall",
    functions: [
      defineFunction({
        name: "book",
        description: "Books a seat.",
        input: z.object({ seat: z.string() }),
        roles: everyone,
        effect: "write",
        handler: ({ seat }) => void ran.push(seat),
      }),
    ],
  });

const bookThenSay =
  (text: string): Script =>
  ({ step }) =>
    step === 0 ? { thoughts: ["A seat first."], calls: [{ name: "book", arguments: { seat: "1A" } }] } : { text };

/** A stand-in of Chat Completions as an endpoint. */
const chat = (name: string, { url }: { url: string }, more: object = {}) => ({
  name,
  provider: "openai" as const,
  wire: "chat" as const,
  baseUrl: `${url}/v1`,
  key: STAND_IN_KEY,
  models: { [`model-of-${name}`]: {} },
  ...more,
});

test("agents use endpoints of one wire by name, with their own models, and queries keep the providers' names", async () => {
  const ran: string[] = [];
  await using north = await startStandIn("openai-chat", bookThenSay("From the north."));
  await using south = await startStandIn("openai-chat", bookThenSay("From the south."));
  const endpoints = [chat("north", north), chat("south", south)];
  await using system = await startSystem({ service: booking(ran), providers: { endpoints: () => endpoints } });
  const { admin } = system.plane;

  const byDefault = await system.query("Book");
  await admin.updateAgent(system.agentId, { settings: { provider: "south", locked: ["model"] } });
  const bySetting = await system.query("Book");
  // The agent's endpoint belongs to the provider that the query names.
  const byProvider = await system.query("Book", { llmConfig: { provider: "openai", temperature: 1 } });

  expect([byDefault, bySetting, byProvider].map(({ response }) => response)).toEqual([
    "From the north.",
    "From the south.",
    "From the south.",
  ]);
  const models = (requests: typeof north.requests) => [...new Set(requests.map(({ summary }) => summary.model))];
  expect([models(north.requests), models(south.requests)]).toEqual([["model-of-north"], ["model-of-south"]]);
  expect(ran).toEqual(["1A", "1A", "1A"]);
  const metrics = await (await system.get("/metrics")).text();
  expect(metrics).toMatch(
    /patchbay_model_turns_total\{[^}]*model="model-of-south"[^}]*provider="south"|provider="south"[^}]*model="model-of-south"/,
  );
});

const unknown = (name: string): string =>
  `Endpoint ${name} is not configured for this organisation. Choose another provider in the agent's settings, or have the operator add the endpoint (--providers)`;

test("an endpoint is used by its organisations only, and a changed list from the next query on", async () => {
  await using closed = await startStandIn("openai-chat", () => ({ text: "Closed." }));
  await using open = await startStandIn("openai-chat", () => ({ text: "Open." }));
  const ofOther = [chat("closed", closed, { organisations: ["org_other"] }), chat("open", open)];
  let endpoints = ofOther;
  await using system = await startSystem({ service: booking([]), providers: { endpoints: () => endpoints } });
  const { agentId, plane } = system;
  const use = (provider: string) => plane.admin.updateAgent(agentId, { settings: { provider } });

  const before = await system.query("Hello");
  for (const name of ["closed", "gone"])
    await expect(use(name)).rejects.toMatchObject({
      message: `${unknown(name)}.`,
      details: [{ path: "settings.provider", message: unknown(name) }],
    });
  endpoints = [chat("closed", closed, { organisations: [system.orgId] }), ofOther[1]!];
  await use("closed");
  const allowed = await system.query("Hello");
  endpoints = ofOther;
  const refused = await system.query("Hello");
  // A setting that names no model can be changed all the same.
  await plane.admin.updateAgent(agentId, { settings: { temperature: 0.5 } });

  expect([before.response, allowed.response]).toEqual(["Open.", "Closed."]);
  expect(refused).toMatchObject({ code: "provider_not_configured", errorMessage: unknown("closed") });
  await use("gemini");
  expect(await system.query("Hello")).toMatchObject({ errorMessage: "Provider gemini is not configured" });
});

test("an endpoint answers with the models of its list only, in settings, queries and fallback lists", async () => {
  await using only = await startStandIn("openai-chat", () => ({ text: "Hello." }));
  let models: Record<string, object> = { "small-1": {}, "small-2": {} };
  const endpoints = () => [chat("only", only, { models })];
  await using system = await startSystem({ service: booking([]), providers: { endpoints } });
  const set = (settings: AgentSettingsChange) => system.plane.admin.updateAgent(system.agentId, { settings });
  const offers = (list: string): string =>
    `Endpoint only offers only ${list}. Choose one of these models, or have the operator add another (--providers)`;

  const refused = offers("small-1, small-2");
  for (const [settings, path] of [
    [{ model: "gpt-6-luna" }, "settings.model"],
    [{ provider: "only", model: "gpt-6-luna" }, "settings.model"],
    [{ fallback: [{ provider: "only" }, { provider: "only", model: "gpt-6-luna" }] }, "settings.fallback.1.model"],
  ] as const)
    await expect(set(settings as AgentSettingsChange)).rejects.toMatchObject({ details: [{ path, message: refused }] });
  expect(await system.query("Hello", { llmConfig: { provider: "openai", model: "gpt-6-luna" } })).toMatchObject({
    code: "model_not_allowed",
    errorMessage: refused,
  });
  await set({ provider: "only", model: "small-2", fallback: [{ provider: "only", model: "small-1" }] });
  expect(await system.query("Hello")).toMatchObject({ response: "Hello." });
  models = { "small-2": {} };
  expect(await system.query("Hello")).toMatchObject({
    response: "Hello.",
    warnings: expect.arrayContaining(["Fallback model only/small-1 is not offered and was left out"]),
  });
  models = { "small-3": {} };
  expect(await system.query("Hello")).toMatchObject({ code: "model_not_allowed", errorMessage: offers("small-3") });
  expect(only.requests.map(({ summary }) => summary.model)).toEqual(["small-2", "small-2"]);
});

test("a run continues on another wire after calls, whose foreign ids and thoughts the next endpoint accepts", async () => {
  const ran: string[] = [];
  await using first = await startStandIn("openai-chat", ({ step }) =>
    step === 0
      ? { thoughts: ["A seat first."], calls: [{ name: "book", arguments: { seat: "1A" } }] }
      : { error: { status: 402, message: "no credits left" } },
  );
  await using second = await startStandIn("anthropic", () => ({ text: "Booked." }));
  const endpoints = [
    chat("groq", first),
    { name: "claude", provider: "anthropic" as const, baseUrl: second.url, key: STAND_IN_KEY },
  ];
  await using system = await startSystem({ service: booking(ran), providers: { endpoints: () => endpoints } });
  await system.plane.admin.updateAgent(system.agentId, { settings: { fallback: [{ provider: "claude" }] } });

  const answer = await system.query("Book");

  expect(answer).toMatchObject({ success: true, response: "Booked." });
  expect(answer.warnings).toContainEqual(
    "Model groq/model-of-groq failed (quota): claude/claude-sonnet-5-5 answered instead",
  );
  expect(ran).toEqual(["1A"]);
  expect(second.requests.map(({ refusal }) => refusal)).toEqual([undefined]);
  const [{ summary }] = second.requests as [(typeof second.requests)[0]];
  const [call] = summary.messages.flatMap(({ calls }) => calls);
  expect(call?.id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(summary.results.map(({ callId }) => callId)).toEqual([call?.id]);
  expect(JSON.stringify(second.requests[0]!.body)).not.toContain("A seat first.");
});
