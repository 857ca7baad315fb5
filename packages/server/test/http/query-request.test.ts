import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { API_KEY, QUERY, startHttp } from "./support/start-http.ts";

const faultsOf = async (response: Response): Promise<{ path: string; message: string }[]> =>
  ((await response.json()) as { details: { path: string; message: string }[] }).details;

/** A query without optional members, as the core gets it. */
const BARE = {
  query: "hi",
  analysisMode: false,
  respondAsync: false,
  cancelWhenGone: false,
  adapter: "/agents/:agent_id/query",
};

describe("a QueryRequest", () => {
  test("may have unknown properties, which are ignored with a warning", async () => {
    await using http = await startHttp();
    const response = await http.post(
      QUERY,
      '{"query":"hi","colour":"red","__proto__":{"role":"admin"},"constructor":1}',
    );
    expect(response.status).toBe(200);
    expect(http.runs.starts[0]?.query).toEqual({
      ...BARE,
      requestId: expect.any(String),
      warnings: ["colour, constructor are not known and were ignored"],
    });
  });

  test("without a value for an optional property, null or an empty string, equals one without the property", async () => {
    await using http = await startHttp();
    const absent = { threadId: "", sessionId: "", role: "", contextJson: "", analysisMode: null, llmConfig: null };
    expect((await http.post(QUERY, { query: "hi", ...absent })).status).toBe(200);
    expect(http.runs.starts[0]?.query).toEqual({ ...BARE, requestId: expect.any(String) });
  });

  test.each(["{", "[]", "7", JSON.stringify({ a: "x".repeat(65_536) })])(
    "whose contextJson is not a JSON object of at most 64 KiB is 400, and starts no run (%#)",
    async (contextJson) => {
      await using http = await startHttp();
      const response = await http.post(QUERY, { query: "hi", contextJson });
      expect(response.status).toBe(400);
      expect(await faultsOf(response)).toMatchObject([{ path: "contextJson" }]);
      expect(http.runs.starts).toHaveLength(0);
    },
  );

  test("lists all faults together, including those of headers", async () => {
    await using http = await startHttp();
    const body = { role: 1, contextJson: "[]", llmConfig: { provider: "x", maxTokens: -1 } };
    const response = await http.post(QUERY, body, { "Idempotency-Key": "k".repeat(256) });
    expect((await faultsOf(response)).map((fault) => fault.path).sort()).toEqual([
      "Idempotency-Key",
      "contextJson",
      "llmConfig.maxTokens",
      "llmConfig.provider",
      "query",
      "role",
    ]);
  });

  test.each([
    "",
    "{",
    "nothing",
    '{"query":"hi"',
    "\u0000",
    "[".repeat(100_000),
    `{"query":${"[".repeat(65)}${"]".repeat(65)}}`,
  ])("is 400 when the body is not JSON, or too deep (%#)", async (body) => {
    await using http = await startHttp();
    const response = await http.post(QUERY, body);
    expect(response.status).toBe(400);
    expect((await faultsOf(response))[0]?.path).toBe("");
  });

  test.each(["null", "[]", '"query"', "7"])("is 400 when the body is %s instead of an object", async (body) => {
    await using http = await startHttp();
    expect((await http.post(QUERY, body)).status).toBe(400);
  });

  test("is 400 when the body is not UTF-8", async () => {
    await using http = await startHttp();
    const body = new Uint8Array([...Buffer.from('{"query":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    const response = await fetch(http.url + QUERY, {
      method: "POST",
      headers: { "X-API-Key": API_KEY, "Content-Type": "application/json" },
      body,
    });
    expect(response.status).toBe(400);
  });
});

describe("the content type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/json; charset=utf8",
    "application/json; charset=us-ascii",
    'application/json; profile="x"',
    "application/json; odata=verbose; charset=utf-8",
  ])("%s is accepted", async (type) => {
    await using http = await startHttp();
    expect((await http.post(QUERY, { query: "hi" }, { "Content-Type": type })).status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/jsonp",
    "application/json, text/plain",
    "application/json; charset=latin1",
    "application/json; profile=x; charset=utf-16",
    "multipart/form-data; boundary=x",
    "a",
  ])("%s is 415", async (type) => {
    await using http = await startHttp();
    const response = await http.post(QUERY, { query: "hi" }, { "Content-Type": type });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
  });

  test.each(["gzip", "br", "x-unknown"])("a body with Content-Encoding: %s is 415 for any bytes", async (coding) => {
    await using http = await startHttp();
    const response = await http.post(QUERY, { query: "hi" }, { "Content-Encoding": coding });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      errorMessage: expect.stringContaining("without Content-Encoding"),
    });
    expect((await http.post(QUERY, { query: "hi" }, { "Content-Encoding": "identity" })).status).toBe(200);
  });

  test("none is 415", async () => {
    await using http = await startHttp();
    const body = new Blob(['{"query":"hi"}']);
    const response = await fetch(http.url + QUERY, { method: "POST", headers: { "X-API-Key": API_KEY }, body });
    expect(response.status).toBe(415);
  });
});

describe("the size of a body", () => {
  const padded = (bytes: number): string => {
    const body = JSON.stringify({ query: "hi", pad: "" });
    return body.replace('"pad":""', `"pad":"${"x".repeat(bytes - body.length)}"`);
  };
  const headers = { "X-API-Key": API_KEY, "Content-Type": "application/json", Connection: "close" };
  const inChunks = (body: string): string => {
    const chunks = body.match(/[^]{1,60000}/g) ?? [];
    return `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}0\r\n\r\n`;
  };

  test.each([
    [LIMITS.bodyBytes - 1, 200],
    [LIMITS.bodyBytes, 200],
    [LIMITS.bodyBytes + 1, 413],
  ])("%i bytes give %i, with Content-Length and in chunks alike", async (bytes, status) => {
    await using http = await startHttp();
    expect((await http.post(QUERY, padded(bytes))).status).toBe(status);

    using socket = await openSocket(http.port);
    socket.write(requestText("POST", QUERY, { ...headers, "Transfer-Encoding": "chunked" }, inChunks(padded(bytes))));
    const received = await socket.until((text) => text.includes("\r\n\r\n"));
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("a body with too large a Content-Length is rejected before it is sent", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", QUERY, { ...headers, "Content-Length": "99999999" }));
    expect(await socket.until((text) => text.includes("payload_too_large"))).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("endless chunks are rejected at the limit", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", QUERY, { ...headers, "Transfer-Encoding": "chunked" }));
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    for (let i = 0; i < 17; i++) socket.write(chunk);
    expect(await socket.until((text) => text.includes("payload_too_large"))).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("a body without a valid key is never read", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", QUERY, { ...headers, "X-API-Key": "unknown", "Content-Length": "1000" }));
    expect(await socket.until((text) => text.includes("authentication_failed"))).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("a body that ends early starts no run and logs no error", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", QUERY, { ...headers, "Content-Length": "1000" }, '{"query":'));
    socket.socket.end();
    await socket.closed();
    expect((await http.get("/healthz")).status).toBe(200);
    expect(http.runs.starts).toHaveLength(0);
    expect(http.lines).toEqual([]);
  });
});
