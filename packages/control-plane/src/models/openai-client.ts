import type { ClientOptions, OpenAI } from "openai";
import type { OpenaiConfig } from "./openai-config.ts";
import { createProviderFetch } from "./provider-fetch.ts";

/**
 * The SDK's client, loaded when it is first asked for. It builds the address and headers of a request once, since they are the
 * same in all, and sets no time-out of its own: a run has its deadline, and the loop gives up a provider that is silent.
 */
export function lazyOpenai({ apiKey, baseUrl = "https://api.openai.com/v1" }: OpenaiConfig): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | undefined;
  return () =>
    (client ??= import("openai").then(({ OpenAI }) => {
      const fetch = createProviderFetch();
      const options: ClientOptions = { apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: "off", fetch };
      const sdk = new OpenAI(options);
      sdk.buildRequest = buildOnce(sdk.buildRequest.bind(sdk));
      sdk.fetchWithTimeout = (url, init) => fetch(url, init);
      return sdk;
    }));
}

function buildOnce(build: OpenAI["buildRequest"]): OpenAI["buildRequest"] {
  const built = new Map<string, ReturnType<typeof build>>();
  return async (options) => {
    const { path, body, signal = null } = options;
    const known = built.get(path) ?? build({ ...options, body: {} });
    built.set(path, known);
    const { req, ...rest } = await known;
    return { ...rest, req: { ...req, body: JSON.stringify(body), signal } };
  };
}
