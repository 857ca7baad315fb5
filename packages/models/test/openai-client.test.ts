import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { openaiClient } from "../src/openai-client.ts";

interface Seen {
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** A provider that records its requests; it never answers requests with the model `silent`. */
async function provider(apiKey = "key") {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void text(request).then((json) => {
      const body = JSON.parse(json) as { model: string };
      seen.push({ url: request.url, headers: request.headers, body });
      if (body.model !== "silent") response.end("data: [DONE]\n\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const post = openaiClient({ apiKey, baseUrl });
  async function ask(model: string, signal = new AbortController().signal): Promise<void> {
    const response = await post("/chat/completions", { model, messages: [], stream: true }, signal);
    await text(response.body as unknown as AsyncIterable<Uint8Array>);
  }
  return { seen, ask, post };
}

test("every request carries the account's headers and its own body", async () => {
  const { seen, ask } = await provider("sk-1");

  await ask("one");
  await ask("another one");

  expect(seen.map(({ body }) => body)).toEqual(
    ["one", "another one"].map((model) => ({ model, messages: [], stream: true })),
  );
  for (const { url, headers } of seen) {
    expect(url).toBe("/v1/chat/completions");
    expect(headers).toMatchObject({ authorization: "Bearer sk-1", "content-type": "application/json" });
    expect(headers["user-agent"]).toBe("Patchbay");
    expect(headers["accept-encoding"]).toBe("identity");
  }
});

test("what the environment says about OpenAI does not reach another server", async () => {
  for (const name of ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"]) vi.stubEnv(name, "of-openai");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { seen, ask } = await provider();

  await ask("one");

  expect(JSON.stringify(seen[0]!.headers)).not.toMatch(/of-openai|stainless/);
});

test("one client keeps two URLs separate", async () => {
  const { seen, ask, post } = await provider();

  await ask("chat");
  await post("/responses", { model: "responses", input: "", stream: true }, new AbortController().signal);

  expect(seen.map(({ url }) => url)).toEqual(["/v1/chat/completions", "/v1/responses"]);
});

test("an abort ends only its own request", async () => {
  const { seen, ask } = await provider();
  const stop = new AbortController();
  const silent = ask("silent", stop.signal);
  await expect.poll(() => seen.length).toBe(1);

  stop.abort();

  await expect(silent).rejects.toThrow();
  await expect(ask("one")).resolves.toBe(undefined);
});
