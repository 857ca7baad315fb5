import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { createModelCatalog } from "../src/catalog.ts";
import type { Endpoint } from "../src/endpoints.ts";
import { asking, turnOf } from "./drive.ts";

interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A cloud on loopback, which answers each request with `answer`. */
async function cloud(answer: (asked: Asked) => { type: string; body: string | Buffer }) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = "", url: path = "", headers } = request;
      asked.push({ method, path, headers, body });
      const { type, body: sent } = answer(asked.at(-1)!);
      response.writeHead(200, { "content-type": type, "metadata-flavor": "Google" }).end(sent);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function answerOf(endpoint: Omit<Endpoint, "name">, model: string): Promise<string> {
  const choice = createModelCatalog({ endpoints: () => [{ name: "cloud", ...endpoint }] }).choose({ model });
  if ("missing" in choice) throw new Error("not configured");
  return (await turnOf(choice.provider, asking(choice.model))).text;
}

const events = (...data: object[]): string => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");

const CLAUDE = [
  { type: "message_start", message: { model: "claude", usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
  { type: "message_stop" },
];

test("Azure gets the deployment in the path, the version in the query, and the key in its header", async () => {
  const hello = { choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
  const { asked, host } = await cloud(() => ({ type: "text/event-stream", body: events(hello) }));
  const at = { provider: "openai", wire: "chat", auth: "azure", key: "azure-key", baseUrl: `http://${host}/` } as const;

  expect(await answerOf({ ...at, apiVersion: "2025-04-01-preview" }, "our-gpt")).toBe("Hello.");

  const [{ path, headers }] = asked as [Asked];
  expect(path).toBe("/openai/deployments/our-gpt/chat/completions?api-version=2025-04-01-preview");
  expect([headers["api-key"], headers.authorization]).toEqual(["azure-key", undefined]);
});

test("Azure without a key gets a token of Microsoft Entra, which is asked for once", async () => {
  const hello = { choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
  const endsAt = String(Math.floor(Date.now() / 1_000) + 86_400);
  const token = JSON.stringify({ access_token: "entra-token", expires_on: endsAt, token_type: "Bearer" });
  const { asked, host } = await cloud(({ path }) =>
    path.startsWith("/identity")
      ? { type: "application/json", body: token }
      : { type: "text/event-stream", body: events(hello) },
  );
  // As on App Service: the way to a managed identity that needs no fixed address.
  vi.stubEnv("IDENTITY_ENDPOINT", `http://${host}/identity`);
  vi.stubEnv("IDENTITY_HEADER", "secret");
  onTestFinished(() => void vi.unstubAllEnvs());
  const at = { provider: "openai", wire: "chat", auth: "azure", baseUrl: `http://${host}/` } as const;
  const choice = createModelCatalog({ endpoints: () => [{ name: "cloud", ...at, apiVersion: "2025-04-01-preview" }] });
  const chosen = choice.choose({ model: "our-gpt" });
  if ("missing" in chosen) throw new Error("not configured");

  for (const _ of [1, 2]) expect((await turnOf(chosen.provider, asking(chosen.model))).text).toBe("Hello.");

  const [identity, ...turns] = asked as [Asked, ...Asked[]];
  expect(identity.headers["x-identity-header"]).toBe("secret");
  expect(new URLSearchParams(identity.path.split("?")[1]).get("resource")).toBe("https://cognitiveservices.azure.com");
  expect(turns.map(({ headers }) => [headers.authorization, headers["api-key"]])).toEqual([
    ["Bearer entra-token", undefined],
    ["Bearer entra-token", undefined],
  ]);
});

const sha256 = (content: string): string => createHash("sha256").update(content).digest("hex");
const hmac = (key: string | Buffer, content: string): Buffer => createHmac("sha256", key).update(content).digest();

/** The signature of a request by AWS's documentation of Signature Version 4, from its parts as they arrived. */
function signatureOf({ method, path, headers, body }: Asked, secretKey: string): string {
  const [, scope = "", signed = ""] = /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+)/.exec(headers.authorization!)!;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const lines = signed.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, encoded, "", lines.join(""), signed, sha256(body)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const [date = "", region = "", service = ""] = scope.split("/");
  const key = [date, region, service, "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secretKey}`);
  return hmac(key, toSign).toString("hex");
}

/** A frame of `application/vnd.amazon.eventstream` with one of Claude's events. */
function frame(event: object): Buffer {
  const named = Object.entries({
    ":event-type": "chunk",
    ":content-type": "application/json",
    ":message-type": "event",
  });
  const headers = Buffer.concat(
    named.map(([name, value]) => {
      const size = Buffer.alloc(2);
      size.writeUInt16BE(value.length);
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, Buffer.from(value)]);
    }),
  );
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString("base64") }));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const content = Buffer.concat([prelude, headers, payload]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([content, checksum]);
}

test("Bedrock gets a signed request with the model in its path, and its frames are read", async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "aws-secret");
  onTestFinished(() => void vi.unstubAllEnvs());
  const body = Buffer.concat(CLAUDE.map(frame));
  const { asked, host } = await cloud(() => ({ type: "application/vnd.amazon.eventstream", body }));

  const at = { provider: "anthropic", auth: "aws", region: "eu-west-1", baseUrl: `http://${host}` } as const;
  expect(await answerOf(at, "anthropic.claude-sonnet-5-5-v1:0")).toBe("Hello.");

  const [sent] = asked as [Asked];
  expect(sent.path).toBe("/model/anthropic.claude-sonnet-5-5-v1:0/invoke-with-response-stream");
  expect(sent.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request/,
  );
  expect(sent.headers.authorization).toContain(`Signature=${signatureOf(sent, "aws-secret")}`);
  const members = JSON.parse(sent.body) as Record<string, unknown>;
  expect(members).not.toHaveProperty("model");
  expect(members).toHaveProperty("anthropic_version");
});

/** Google's metadata server, which gives tokens to programs on its machines. */
async function metadata(): Promise<void> {
  const token = JSON.stringify({ access_token: "google-token", expires_in: 3_600, token_type: "Bearer" });
  const { host } = await cloud(() => ({ type: "application/json", body: token }));
  vi.stubEnv("GCE_METADATA_HOST", host);
  vi.stubEnv("METADATA_SERVER_DETECTION", "assume-present");
  onTestFinished(() => void vi.unstubAllEnvs());
}

test("Vertex gets Claude's requests with Google's token, and project, region and model in the path", async () => {
  await metadata();
  const { asked, host } = await cloud(() => ({ type: "text/event-stream", body: events(...CLAUDE) }));

  const at = { provider: "anthropic", auth: "google", region: "europe-west1", project: "desk" } as const;
  expect(await answerOf({ ...at, baseUrl: `http://${host}/v1` }, "claude-sonnet-5-5")).toBe("Hello.");

  const [{ path, headers, body }] = asked as [Asked];
  expect(path).toBe(
    "/v1/projects/desk/locations/europe-west1/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",
  );
  expect(headers.authorization).toBe("Bearer google-token");
  expect(JSON.parse(body)).not.toHaveProperty("model");
});

test("Vertex gets Gemini's requests with Google's token, and project, region and model in the path", async () => {
  await metadata();
  const hello = { candidates: [{ content: { parts: [{ text: "Hello." }] }, finishReason: "STOP" }] };
  const { asked, host } = await cloud(() => ({ type: "text/event-stream", body: events(hello) }));

  const at = { provider: "gemini", auth: "google", region: "europe-west4", project: "desk", apiVersion: "v1" } as const;
  expect(await answerOf({ ...at, baseUrl: `http://${host}` }, "gemini-3.8-flash")).toBe("Hello.");

  const [{ path, headers }] = asked as [Asked];
  expect(path).toBe(
    "/v1/projects/desk/locations/europe-west4/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
  );
  expect(headers.authorization).toBe("Bearer google-token");
  expect(headers["x-goog-api-key"]).toBe(undefined);
});
