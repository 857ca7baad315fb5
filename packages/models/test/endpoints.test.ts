import { expect, test } from "vitest";
import { startStandIn, STAND_IN_KEY } from "@patchbay/test-support/providers";
import { whyMissing } from "@patchbay/engine/ports/model-provider";
import { createModelCatalog } from "../src/catalog.ts";
import { type Endpoint, parseEndpoints } from "../src/endpoints.ts";
import { asking, continued, turnOf } from "./drive.ts";

const secret = (source: { file: string } | { variable: string }): string =>
  "file" in source ? `of ${source.file}` : `of ${source.variable}`;
const parse = (...endpoints: object[]): Endpoint[] => parseEndpoints(JSON.stringify({ endpoints }), secret);
const faultsOf = (...endpoints: object[]): string => {
  try {
    parse(...endpoints);
  } catch (error) {
    return (error as Error).message;
  }
  return "none";
};

const claude = { name: "claude", provider: "anthropic", keyEnv: "KEY" };

test("an entry has its secret from a file or a variable, and a profile by its name", () => {
  const groq = {
    name: "groq",
    provider: "openai",
    wire: "chat",
    baseUrl: "https://api.groq.com/openai/v1",
    keyFile: "/run/secrets/groq",
    headers: { "X-Team": "desk" },
    profile: "groq",
  };

  expect(parse(claude, groq)).toEqual([
    { name: "claude", provider: "anthropic", key: "of KEY" },
    { ...groq, key: "of /run/secrets/groq", profile: { thoughts: false, maxTools: 128 } },
  ]);
});

test.each([
  [{ ...claude, name: "Claude EU" }, "endpoints.0.name must be 1 to 40 lower-case letters"],
  [{ ...claude, provider: "acme" }, "endpoints.0.provider"],
  [{ ...claude, wire: "chat" }, "endpoints.0.wire must be messages for anthropic"],
  [{ ...claude, apiKey: "sk-ant-123" }, "endpoints.0"],
  [{ name: "c", provider: "anthropic" }, "endpoints.0.keyFile is required, or keyEnv"],
  [{ ...claude, keyFile: "f" }, "endpoints.0.keyEnv excludes keyFile"],
  [{ ...claude, auth: "aws" }, "endpoints.0.region is required with auth aws"],
  [{ ...claude, auth: "azure", baseUrl: "https://h" }, "endpoints.0.auth azure is for provider openai"],
  [{ ...claude, auth: "google", region: "eu" }, "endpoints.0.project is required with auth google"],
  [{ ...claude, auth: "header" }, "endpoints.0.header is required with auth header"],
  [{ ...claude, baseUrl: "https://u:secret-1@h" }, "endpoints.0.baseUrl must not contain a password"],
  [{ ...claude, baseUrl: "ftp://h" }, "endpoints.0.baseUrl must be an http:// or https:// address"],
  [{ ...claude, name: "gemini" }, "and this is not its first endpoint"],
  [{ ...claude, models: {} }, "endpoints.0.models must name a model, or be left out"],
])("%o is judged: %s", (entry, fault) => {
  const faults = faultsOf(entry);

  expect(faults).toContain(fault);
  expect(faults).not.toMatch(/secret-1|sk-ant-123/);
});

test("all faults are named at once, also those of names", () => {
  const faults = faultsOf({ ...claude, auth: "header" }, { ...claude, name: "x", wire: "chat" });

  expect(faults).toContain("endpoints.0.header");
  expect(faults).toContain("endpoints.1.wire");
  expect(faultsOf(claude, claude)).toBe("endpoints.1.name claude is there twice");
  expect(faultsOf(claude, { ...claude, name: "anthropic" })).toContain("this is not its first endpoint");
  expect(() => parseEndpoints("{", secret)).toThrow("it is not valid JSON");
});

const local = (name: string, more: Partial<Endpoint> = {}): Endpoint => ({
  name,
  provider: "openai",
  wire: "chat",
  baseUrl: "http://127.0.0.1:9/v1",
  ...more,
});

const chosen = (choice: ReturnType<ReturnType<typeof createModelCatalog>["choose"]>) =>
  "missing" in choice ? whyMissing(choice) : `${choice.provider.name}/${choice.model}`;

test("a name means that endpoint, a provider its first one that the organisation may use, and nothing the first of all", () => {
  const endpoints = [
    local("mine", { organisations: ["org_1"], models: { "qwen3-8b": {}, llama: {} } }),
    local("shared", { models: { "qwen3-4b": {} } }),
    { name: "claude", provider: "anthropic", key: "k" } as Endpoint,
  ];
  const { choose } = createModelCatalog({ endpoints: () => endpoints });

  expect(chosen(choose({ orgId: "org_1" }))).toBe("mine/qwen3-8b");
  expect(chosen(choose({ orgId: "org_2" }))).toBe("shared/qwen3-4b");
  expect(chosen(choose({ provider: "openai", orgId: "org_1" }))).toBe("mine/qwen3-8b");
  expect(chosen(choose({ provider: "openai", model: "llama", orgId: "org_1" }))).toBe("mine/llama");
  expect(chosen(choose({ provider: "mine", orgId: "org_2" }))).toBe(
    "Endpoint mine is not configured for this organisation. Choose another provider in the agent's settings, or have the operator add the endpoint (--providers)",
  );
  expect(chosen(choose({ provider: "anthropic" }))).toBe("claude/claude-sonnet-5-5");
  expect(chosen(choose({ provider: "gemini" }))).toBe("Provider gemini is not configured");
});

test("an endpoint offers only the models of its list, under both names of Gemini's, and all without a list", () => {
  const endpoints: Endpoint[] = [
    local("two", { models: { "qwen3-8b": {}, llama: {} } }),
    { name: "google", provider: "gemini", key: "k", models: { "models/gemini-3.8-flash": {} } },
    { name: "claude", provider: "anthropic", key: "k" },
  ];
  const { choose } = createModelCatalog({ endpoints: () => endpoints });

  expect(choose({ provider: "two", model: "gpt-6-luna" })).toEqual({ missing: "two", models: ["qwen3-8b", "llama"] });
  expect(chosen(choose({ provider: "openai", model: "gpt-6-luna" }))).toBe(
    "Endpoint two offers only qwen3-8b, llama. Choose one of these models, or have the operator add another (--providers)",
  );
  expect(choose({ model: "claude-sonnet-5-5" })).toMatchObject({ missing: "two" });
  for (const model of ["gemini-3.8-flash", "models/gemini-3.8-flash", undefined])
    expect(chosen(choose({ provider: "gemini", ...(model && { model }) }))).toBe("google/gemini-3.8-flash");
  expect(choose({ provider: "gemini", model: "gemini-2.5-pro" })).toMatchObject({ missing: "google" });
  expect(chosen(choose({ provider: "claude", model: "claude-opus-5-5" }))).toBe("claude/claude-opus-5-5");
});

test("the list for an organisation has the endpoints that it may use, with their own models and prices", () => {
  const price = { input: 1, output: 2 };
  const endpoints: Endpoint[] = [
    local("mine", { organisations: ["org_1"], models: { "qwen3-8b": { price } } }),
    local("shared"),
    { name: "claude", provider: "anthropic", key: "k", models: { "claude-sonnet-5-5": {} } },
  ];
  const { providers } = createModelCatalog({ endpoints: () => endpoints });
  const listed = (orgId?: string) =>
    providers(orgId).map(({ name, priced }) => [name, priced.map(({ model }) => model)]);

  const open = [
    ["shared", []],
    ["claude", ["claude-sonnet-5-5"]],
  ];
  expect(listed("org_1")).toEqual([["mine", ["qwen3-8b"]], ...open]);
  expect(listed("org_2")).toEqual(open);
  expect(listed()).toEqual(listed("org_1"));
});

test("a price applies to its endpoint only", () => {
  const priced = { models: { qwen3: { price: { input: 1, output: 2 } } } };
  const endpoints = [local("dear", priced), local("own")];
  const { choose } = createModelCatalog({ endpoints: () => endpoints });
  const usage = { input: 1_000, cachedInput: 0, output: 100 };

  const [dear, own] = ["dear", "own"].map((provider) => choose({ provider, model: "qwen3" }));

  expect("cost" in dear! && dear.cost(usage)).toBe(1_200);
  expect("cost" in own! && own.cost(usage)).toBe(undefined);
});

test("a changed list takes effect at once, and endpoints that stay keep what they have learned", async () => {
  await using standIn = await startStandIn("openai-chat", () => ({ text: "Hello." }), { server: "mistral" });
  const entry = () => local("strict", { baseUrl: `${standIn.url}/v1`, key: STAND_IN_KEY });
  let endpoints = [entry()];
  const catalog = createModelCatalog({ endpoints: () => endpoints });
  const ask = async () => {
    const choice = catalog.choose({ provider: "strict" });
    if ("missing" in choice) throw new Error("not configured");
    return (await turnOf(choice.provider, asking("m"))).text;
  };
  await ask();
  expect(catalog.providers()[0]?.leftOut).toEqual(["stream_options"]);

  endpoints = [local("new"), entry()];
  await ask();
  expect(chosen(catalog.choose())).toBe("new/gpt-4.1-mini");
  expect(standIn.requests.filter(({ refusal }) => refusal)).toHaveLength(1);

  endpoints = [{ ...entry(), headers: { "X-Team": "desk" } }];
  await ask();
  expect(standIn.requests.at(-1)!.headers["x-team"]).toBe("desk");
  expect(standIn.requests.filter(({ refusal }) => refusal)).toHaveLength(2);
});

test("what one endpoint issued goes back to it only", async () => {
  await using standIn = await startStandIn("openai-chat", ({ step }) =>
    step === 0 ? { thoughts: ["Secret."], calls: [{ name: "ping" }] } : { text: "Done." },
  );
  const at = { baseUrl: `${standIn.url}/v1`, key: STAND_IN_KEY };
  const endpoints = [local("one", at), local("two", at)];
  const { choose } = createModelCatalog({ endpoints: () => endpoints });
  const [one, two] = ["one", "two"].map((provider) => {
    const choice = choose({ provider });
    if ("missing" in choice) throw new Error("not configured");
    return choice.provider;
  });

  const first = await turnOf(one!, asking("m"));
  const messages = [...asking("m").messages, ...continued(first, { content: "true", isError: false })];
  await turnOf(one!, asking("m", { messages }));
  await turnOf(two!, asking("m", { messages }));

  const sent = standIn.requests.map(({ body }) => JSON.stringify(body).includes("Secret."));
  expect(sent).toEqual([false, true, false]);
});

test.each([
  ["openai", { auth: "header", header: "x-key" }, { "x-key": STAND_IN_KEY, authorization: undefined }],
  ["openai", { auth: "azure" }, { "api-key": STAND_IN_KEY, authorization: undefined }],
  ["anthropic", { auth: "header", header: "x-api-key" }, { "x-api-key": STAND_IN_KEY, authorization: undefined }],
  ["gemini", { auth: "bearer" }, { authorization: `Bearer ${STAND_IN_KEY}`, "x-goog-api-key": undefined }],
  ["gemini", {}, { "x-goog-api-key": STAND_IN_KEY, authorization: undefined }],
] as const)("the key for %s with %o is in its header only", async (provider, auth, headers) => {
  await using standIn = await startStandIn(provider === "openai" ? "openai-responses" : provider, () => ({ text: "" }));
  const baseUrl = provider === "openai" ? `${standIn.url}/v1` : standIn.url;
  const endpoint = { name: "e", provider, baseUrl, key: STAND_IN_KEY, headers: { "X-Team": "desk" }, ...auth };
  const choice = createModelCatalog({ endpoints: () => [endpoint] }).choose();
  if ("missing" in choice) throw new Error("not configured");

  await turnOf(choice.provider, asking(choice.model)).catch(() => {});

  const { headers: sent } = standIn.requests[0]!;
  expect(sent).toMatchObject({ "x-team": "desk" });
  for (const [name, value] of Object.entries(headers)) expect(sent[name]).toBe(value);
});
