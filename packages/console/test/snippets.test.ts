import { runInNewContext } from "node:vm";
import { execFile } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  caseSnippet,
  connectSnippetsOf,
  localSnippetOf,
  operatorCommand,
  shellQuote,
  snippetsOf,
} from "../src/format/snippets.ts";

const run = promisify(execFile);
const body = { query: `Which of O'Neill's "late" orders cost $5?`, role: "support", analysisMode: true, note: null };
const KEY = "service_live_abc";
let received: { headers: IncomingMessage["headers"]; body: unknown; url: string | undefined }[] = [];

/** Answers a query with one event, like the query API. */
const server = createServer(async (request, response) => {
  const text = (await request.toArray()).join("");
  received.push({ headers: request.headers, url: request.url, body: JSON.parse(text) });
  response.setHeader("content-type", "text/event-stream");
  response.end('id: 0\ndata: {"type":"finalResponse","response":"two"}\n\n');
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  received = [];
});

const query = (apiKey?: string) => ({
  baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  agentId: "agt_1",
  apiKey,
  body,
});
const env = { ...process.env, PATCHBAY_API_KEY: KEY };

const runners = {
  curl: (text: string) => run("sh", ["-c", text], { env }),
  fetch: (text: string) => run(process.execPath, ["--input-type=module", "-e", text], { env }),
  python: (text: string) => run("python3", ["-c", text], { env }),
};

const cases = (["curl", "fetch", "python"] as const).flatMap((language) =>
  [undefined, KEY].map((key) => ({ language, key, from: key === undefined ? "the environment" : "the snippet" })),
);

test.each(cases)("the $language snippet sends the query with the key from $from", async ({ language, key }) => {
  const { stdout } = await runners[language](snippetsOf(query(key))[language]);

  expect(received).toMatchObject([
    { url: "/agents/agt_1/query-stream", body, headers: { "x-api-key": KEY, accept: "text/event-stream" } },
  ]);
  expect(stdout).toContain("finalResponse");
});

test.each(["plain", "two words", "it's", '$HOME `id` "x" \\', "-n", ""])(
  "a shell reads %j as one word",
  async (word) => {
    const { stdout } = await run("sh", ["-c", `printf '[%s]' ${shellQuote(word)}`]);

    expect(stdout).toBe(`[${word}]`);
  },
);

const CONNECT = { baseUrl: "https://patchbay.example", agentId: "agt_1" };

test.each([
  [null, "npx patchbay orgs list"],
  [{ name: "--data-dir", value: "/srv/it's" }, `npx patchbay orgs list --data-dir '/srv/it'\\''s'`],
  [{ name: "--database", value: null }, 'npx patchbay orgs list --database "$PATCHBAY_DATABASE"'],
] as const)("the operator's commands name the database %o", (option, command) => {
  expect(operatorCommand("orgs list", option)).toBe(command);
});

test("a call becomes a case of the service file", () => {
  const input = JSON.parse('{"order_id": "#W1", "two words": [1, {"a": null}], "__proto__": {"x": true}}') as object;
  const text = caseSnippet({ input, context: { customerId: "c-1" }, role: "customer" });

  const { cases } = runInNewContext(`({ ${text} })`) as { cases: object };
  expect(JSON.stringify(cases)).toBe(
    JSON.stringify({ "as customer": { input, context: { customerId: "c-1" }, roles: ["customer"] } }),
  );
  expect(caseSnippet({ input: { id: 7 }, context: {}, role: undefined })).toBe(
    "cases: {\n  call: {\n    input: {\n      id: 7,\n    },\n  },\n},",
  );
});

test("connect snippets contain URL and agent, and the key only if it is inserted", () => {
  const { cli, code } = connectSnippetsOf(CONNECT);
  expect(cli.replaceAll(/ \\\n */g, " ")).toBe(
    "PATCHBAY_RUNTIME_KEY=patchbay_rt_... npx patchbay connect service.ts --url https://patchbay.example --agent agt_1",
  );
  expect(code).toContain("key: process.env.PATCHBAY_RUNTIME_KEY,");

  const inserted = connectSnippetsOf({ ...CONNECT, runtimeKey: "patchbay_rt_1" });
  expect(inserted.cli).toContain("PATCHBAY_RUNTIME_KEY=patchbay_rt_1 ");
  expect(inserted.code).toContain('key: "patchbay_rt_1",');
});

test("the snippet of the local API contains the inserted token", () => {
  expect(localSnippetOf(CONNECT.baseUrl, undefined)).toContain('"Authorization: Bearer $PATCHBAY_TOKEN"');
  expect(localSnippetOf(CONNECT.baseUrl, "patchbay_at_1")).toContain("'Authorization: Bearer patchbay_at_1'");
});
