import { isJsonObject, type JsonObject, parseJson } from "@patchbay/kit";
import type { TokenUsage } from "@patchbay/engine/ports/model-provider";
import { ModelError } from "@patchbay/engine/ports/model-provider";
import { type Account, headersOf, notInstalled } from "./account.ts";
import { type BuiltRequest, createProviderFetch, keptRequest, usableKey } from "./provider-fetch.ts";
import { type Meter, reasoningOf } from "./turn-stream.ts";

type Path = "/chat/completions" | "/responses";

/**
 * Posts one account's requests, with the address, headers and errors of the `openai` package. Its `post` would triple the
 * CPU time of a request, so the package builds one request for each model, and this sends it with each body.
 */
export function openaiClient(account: Account) {
  let connected: Promise<Connected> | undefined;
  const connect = () => (connected ??= connectTo(account));
  const fetch = createProviderFetch();
  return async (path: Path, body: JsonObject, signal: AbortSignal): Promise<Response> => {
    const { requestTo, failed, token } = await connect();
    const { url, headers: own } = await requestTo(`${path} ${body["model"] as string}`);
    const headers = token ? new Headers([...own, ["Authorization", `Bearer ${await token()}`]]) : own;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw failed(response, await response.text());
    return response;
  };
}

interface Connected {
  requestTo(pathAndModel: `${Path} ${string}`): Promise<BuiltRequest>;
  failed(response: Response, said: string): Error;
  /** Resolves to the credential, renewed in time, if it is not a key. */
  token: (() => Promise<string>) | undefined;
}

/** Tokens of Microsoft Entra for Azure, with the credentials of the machine. */
async function entraTokens(): Promise<() => Promise<string>> {
  const { DefaultAzureCredential, getBearerTokenProvider } = await import("@azure/identity").catch(
    notInstalled("azure without a key", "@azure/identity"),
  );
  const tokenOf = getBearerTokenProvider(new DefaultAzureCredential(), "https://cognitiveservices.azure.com/.default");
  return () =>
    tokenOf().catch((cause: unknown) => {
      const why =
        "Azure was not asked: this machine has no credentials of Microsoft Entra, and the endpoint has no key";
      throw new ModelError("authentication", why, { cause });
    });
}

async function connectTo(account: Account): Promise<Connected> {
  const { OpenAI, AzureOpenAI } = await import("openai");
  const token = account.auth === "azure" && account.apiKey === undefined ? await entraTokens() : undefined;
  const { apiKey = "none", baseUrl: baseURL = "https://api.openai.com/v1", auth, apiVersion } = account;
  // Null: the package would read these from the environment, and send OpenAI's to a compatible server.
  const key = { apiKey: usableKey("openai", apiKey), adminAPIKey: null, organization: null, project: null };
  const defaultHeaders = { "User-Agent": "Patchbay", ...headersOf("openai", account) };
  const options = { ...key, logLevel: "off", defaultHeaders } as const;
  const client =
    auth === "azure" && apiVersion !== undefined
      ? new AzureOpenAI({ ...options, baseURL: `${baseURL.replace(/\/+$/, "")}/openai`, apiVersion })
      : new OpenAI({ ...options, baseURL });
  /** Also a key that is not there. */
  const UNSENT = token ? /^(?:x-stainless-|api-key$|authorization$)/ : /^x-stainless-/;
  return {
    token,
    requestTo: keptRequest(async (pathAndModel) => {
      const [path, model] = pathAndModel.split(" ") as [Path, string];
      // Azure has the model in the address.
      const { url, req } = await client.buildRequest({ method: "post", path, body: { model }, stream: true });
      // What the package says about this machine: compatible servers need none of it.
      const headers = [...(req.headers as Headers)].filter(([name]) => !UNSENT.test(name));
      return { url, headers: new Headers(headers) };
    }),
    failed({ status, headers }, said) {
      const body = parseJson(said);
      // Some compatible servers have no member `error`, and others a text there.
      const error = body.ok && isJsonObject(body.value) ? (body.value["error"] ?? body.value) : undefined;
      return OpenAI.APIError.generate(status, { error }, said, headers);
    },
  };
}

interface OpenaiCounts {
  input?: number | undefined;
  details?: { cached_tokens?: number; cache_write_tokens?: number } | null | undefined;
  output?: number | undefined;
  written?: { reasoning_tokens?: number } | null | undefined;
}

/** The counts of both wires, which name them differently. */
export const openaiUsage = ({ input, details, output, written }: OpenaiCounts, { count }: Meter): TokenUsage => ({
  input: count(input),
  cachedInput: count(details?.cached_tokens),
  cacheWriteInput: count(details?.cache_write_tokens),
  output: count(output),
  ...reasoningOf(count(written?.reasoning_tokens)),
});
