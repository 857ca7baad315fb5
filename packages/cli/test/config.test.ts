import { expect, test } from "vitest";
import { readProviderConfig } from "../src/config.ts";

test("empty values count as unset", () => {
  const env = {
    ANTHROPIC_API_KEY: "",
    OPENAI_BASE_URL: " ",
    PATCHBAY_PROVIDER: "",
    PATCHBAY_MODEL: "",
  };
  expect(readProviderConfig(env)).toEqual({ offline: false, default: {} });
});

test("OpenAI uses the Responses API, and Chat Completions with another address", () => {
  expect(readProviderConfig({ OPENAI_API_KEY: "k" }).openai).toEqual({ apiKey: "k", api: "responses" });
  expect(readProviderConfig({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://h/v1" }).openai).toMatchObject({
    api: "chat",
  });
  const named = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://h/v1", OPENAI_API: "responses" };
  expect(readProviderConfig(named).openai).toEqual({ apiKey: "k", baseUrl: "http://h/v1", api: "responses" });
});

test("a malformed default model is refused", () => {
  expect(() => readProviderConfig({ PATCHBAY_MODEL: "../gpt-6-luna" })).toThrow("PATCHBAY_MODEL must be a model name");
});

test("a compatible server may need no key", () => {
  expect(readProviderConfig({ OPENAI_BASE_URL: "http://h/v1" }).openai).toEqual({
    baseUrl: "http://h/v1",
    api: "chat",
  });
});

test("the offline model answers when named, and as a fallback only with offlineFallback", () => {
  expect(readProviderConfig({}).offline).toBe(false);
  expect(readProviderConfig({ PATCHBAY_PROVIDER: "offline" })).toMatchObject({
    offline: true,
    default: { provider: "offline" },
  });
  expect(readProviderConfig({}, { offlineFallback: true })).toEqual({ offline: true, default: {} });
});

test("one failure names every invalid value", () => {
  const env = {
    PATCHBAY_PROVIDER: "acme",
    OPENAI_API: "telex",
    GEMINI_BASE_URL: "nowhere",
  };
  expect(() => readProviderConfig(env)).toThrow(/GEMINI_BASE_URL.*OPENAI_API.*PATCHBAY_PROVIDER/);
});
