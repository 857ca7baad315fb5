import type { ClientOptions, OpenAI } from "openai";
import { createProviderFetch } from "./provider-fetch.ts";

export interface OpenaiConfig {
  apiKey: string;
  /** With `/v1`. Default: OpenAI's own. */
  baseUrl?: string;
}

/** The SDK's client, loaded when it is first asked for. */
export function lazyOpenai({ apiKey, baseUrl = "https://api.openai.com/v1" }: OpenaiConfig): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | undefined;
  return () =>
    (client ??= import("openai").then(({ OpenAI }) => {
      const fetch = createProviderFetch();
      const options: ClientOptions = { apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: "off", fetch };
      return new OpenAI(options);
    }));
}
