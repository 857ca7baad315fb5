import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/** Prints the packages that a process has loaded: when its catalog exists, and after a query to each provider. */
const SCRIPT = `
import { registerHooks } from "node:module";
const loaded = new Set();
registerHooks({
  resolve(specifier, context, next) {
    if (/^(openai|@anthropic-ai|@google)/.test(specifier)) loaded.add(specifier);
    return next(specifier, context);
  },
});
const { createModelCatalog } = await import("@patchbay/models/catalog");
const account = { apiKey: "k", baseUrl: "http://127.0.0.1:9" };
const catalog = createModelCatalog({ anthropic: account, openai: { ...account, api: "chat" }, gemini: account });
const after = [[...loaded]];
const request = { model: "m", system: "", functions: [], messages: [], maxTokens: 1, toolChoice: "auto" };
for (const { name } of catalog.providers()) {
  const { signal } = new AbortController();
  await catalog.choose({ provider: name }).provider.stream(request, { signal }).next().catch(() => {});
  after.push([...loaded]);
}
process.stdout.write(JSON.stringify(after));
`;

test("a provider's package is loaded with the first request to it", () => {
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", SCRIPT], { encoding: "utf8" });

  const [anthropic, openai, gemini] = ["@anthropic-ai/sdk", "openai", "@google/genai"];
  expect(JSON.parse(printed)).toEqual([[], [anthropic], [anthropic, openai], [anthropic, openai, gemini]]);
});
