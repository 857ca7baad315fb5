import { expect, onTestFinished, test } from "vitest";
import { COMPATIBLE_SERVERS, type CompatibleServerName, startStandIn } from "@patchbay/test-support/providers";
import { virtualTime } from "@patchbay/test-support/virtual-time";
import { createModelCatalog } from "../src/catalog.ts";
import { createProfile, type Profile, PROFILES } from "../src/profiles.ts";
import { asking, continued, turnOf } from "./drive.ts";

const NAMES = Object.keys(COMPATIBLE_SERVERS) as CompatibleServerName[];

/** Runs in which the model thinks, calls and answers, on a server that refuses what the named one does. */
async function runsOn(server: CompatibleServerName, runs: number, profile?: Profile, model = "qwen3") {
  await using standIn = await startStandIn(
    "openai-chat",
    ({ step }) => (step === 0 ? { thoughts: ["Ask first."], calls: [{ name: "ping" }] } : { text: "Done." }),
    { server },
  );
  const { openai } = standIn.config;
  const chosen = createModelCatalog({ openai: { ...openai!, ...(profile && { profile }) } }).choose();
  if ("missing" in chosen) throw new Error("not configured");
  const answers: string[] = [];
  for (let run = 0; run < runs; run++) {
    const first = await turnOf(chosen.provider, asking(model));
    const messages = [...asking(model).messages, ...continued(first, { content: "true", isError: false })];
    answers.push((await turnOf(chosen.provider, asking(model, { messages }))).text);
  }
  return { answers, refusals: standIn.requests.flatMap(({ refusal }) => refusal ?? []), requests: standIn.requests };
}

test.each(NAMES)("a run with its built-in profile meets no refusal on %s", async (name) => {
  const { answers, refusals } = await runsOn(name, 1, PROFILES[name]);

  expect(refusals).toEqual([]);
  expect(answers).toEqual(["Done."]);
});

test.each(NAMES)("runs on a server that behaves as %s learn what it refuses, once", async (name) => {
  const { answers, refusals } = await runsOn(name, 3);

  expect(answers).toEqual(["Done.", "Done.", "Done."]);
  expect(refusals.length).toBe(name === "groq" ? 1 : name === "mistral" ? 2 : 0);
});

test("thoughts go back to a server that wants them", async () => {
  const { requests } = await runsOn("deepseek", 1);

  expect(JSON.stringify(requests[1]!.body)).toContain('"reasoning_content":"Ask first."');
});

test("a cache hint that vLLM refuses is left out", async () => {
  const { answers, refusals } = await runsOn("vllm", 2, undefined, "gpt-4.1");

  expect([answers.length, refusals.length]).toEqual([2, 1]);
});

const refusal = (message: string, status = 400) => Object.assign(new Error(message), { status });
const unused = new AbortController().signal;

/** What reaches a server that refuses with these errors in turn. */
function serverThat(...errors: Error[]) {
  const sent: object[] = [];
  return {
    sent,
    send: async (body: object) => {
      sent.push(body);
      const error = errors.shift();
      if (error) throw error;
      return new Response();
    },
  };
}

test("only members that a request can do without are left out, and not within schemas and arguments", async () => {
  const schema = { properties: { strict: { type: "string" }, reasoning: { type: "string" } } };
  const body = {
    model: "m",
    messages: [{ role: "assistant", content: "Hi", reasoning: "Hm." }],
    tools: [{ type: "function", function: { name: "f", strict: true, parameters: schema } }],
  };
  const { sent, send } = serverThat(
    refusal("'strict' is not allowed"),
    refusal("property 'reasoning' is unsupported", 422),
  );

  await createProfile({}).adapt(send)(body, unused);

  expect(sent.at(-1)).toEqual({
    model: "m",
    messages: [{ role: "assistant", content: "Hi" }],
    tools: [{ type: "function", function: { name: "f", parameters: schema } }],
  });
  for (const error of [refusal("'temperature' is not allowed"), refusal("'strict' is not allowed", 500)]) {
    const other = serverThat(error);
    await expect(createProfile({}).adapt(other.send)({ ...body, temperature: 1 }, unused)).rejects.toBe(error);
    expect(other.sent).toHaveLength(1);
  }
});

test.each([
  "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.",
  "The compiled grammar is too large, which would cause performance issues.",
])("a request whose strict schemas are refused together is sent without strict: %s", async (message) => {
  const { sent, send } = serverThat(refusal(message));

  await createProfile({}).adapt(send)({ tools: [{ name: "f", strict: true }] }, unused);

  expect(sent.at(-1)).toEqual({ tools: [{ name: "f" }] });
});

test("a refusal is remembered for an hour, and not at all when the request fails without the member", async () => {
  const time = virtualTime();
  onTestFinished(() => time[Symbol.dispose]());
  const profile = createProfile({});
  const body = { stream_options: {} };
  await profile.adapt(serverThat(refusal("stream_options")).send)(body, unused);
  expect(profile.left()).toEqual(["stream_options"]);
  await time.advance(3_599_000);
  expect(profile.left()).toEqual(["stream_options"]);
  await time.advance(2_000);
  expect(profile.left()).toEqual([]);

  const failing = serverThat(refusal("stream_options"), refusal("out of memory"));
  await expect(profile.adapt(failing.send)(body, unused)).rejects.toThrow("out of memory");
  expect(profile.left()).toEqual([]);
});

test("a model takes as many functions as its server, else as its maker publishes", () => {
  const most = (openai: object, model: string) => {
    const chosen = createModelCatalog({ openai: { api: "chat", ...openai } }).choose({ provider: "openai", model });
    return "missing" in chosen ? undefined : chosen.maxFunctions;
  };
  const own = { apiKey: "sk-test" };

  expect(most({ profile: { maxTools: 64 }, baseUrl: "http://127.0.0.1:1/v1" }, "llama-4")).toBe(64);
  expect(
    ["gpt-4o", "openai/gpt-6-luna", "o4-mini", "gpt-oss-120b", "llama-4"].map((model) => most(own, model)),
  ).toEqual([128, 128, 128, undefined, undefined]);
});

test("the address of a known service gives its profile", () => {
  expect(createProfile({ baseUrl: "https://api.groq.com/openai/v1" }).left()).toEqual([
    "reasoning",
    "reasoning_content",
  ]);
  expect(createProfile({ baseUrl: "https://groq.com.example.net/v1" }).left()).toEqual([]);
});
