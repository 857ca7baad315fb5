import { mkdir, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import type { Service } from "@patchbay/functions";
import { callAs } from "@patchbay/functions/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { startSystem } from "@patchbay/test-support/system";
import { callsOnce } from "../support/call-models.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/act-as-user.md"), "utf8");
const [, code = ""] = /```ts\n(.*?)```/s.exec(page)!;

// Inside the repository, so that the service finds the packages.
const folder = join(root, `test/output/act-as-user-${process.pid}`);
beforeEach(() => mkdir(folder, { recursive: true }));
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** The service of the page, a token endpoint that exchanges `known` for a token of the files, and the files. */
async function start(known: string) {
  const exchanged: Record<string, string>[] = [];
  const endpoint = await listen(async (request, response) => {
    const fields = Object.fromEntries(new URLSearchParams(await text(request)));
    exchanged.push({ ...fields, client: request.headers.authorization ?? "" });
    if (fields["subject_token"] === known) response.end(JSON.stringify({ access_token: "for-files" }));
    else response.writeHead(400).end();
  });
  const files = await listen(async ({ url, headers }, response) => {
    response.end(JSON.stringify(headers.authorization === "Bearer for-files" ? [`of ada in ${url}`] : []));
  });
  vi.stubEnv("CLIENT_ID", "runtime");
  vi.stubEnv("CLIENT_SECRET", "s3cret");
  vi.stubEnv("TOKEN_ENDPOINT", endpoint.url);
  vi.stubEnv("FILES_URL", files.url);
  const file = join(folder, `files-${known.length}.ts`);
  await writeFile(file, code);
  const { default: service } = (await import(pathToFileURL(file).href)) as { default: Service };
  return {
    service,
    exchanged,
    async [Symbol.asyncDispose]() {
      await endpoint[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
    },
  };
}

const result = { files: ["of ada in /list?folder=a"] };

test("the function of the page exchanges the token of the query and calls the other system with the new one", async () => {
  await using issuer = await startIssuer();
  const token = await issuer.token({ role: "staff" });
  await using shop = await start(token);
  await using system = await startSystem({
    service: shop.service,
    model: callsOnce("list_files", { folder: "a" }),
    callers: { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" },
  });

  const { toolInteractions } = await system.query("Which files?", {}, { "x-patchbay-caller": token });

  expect(toolInteractions).toMatchObject([{ toolName: "list_files", success: true, result }]);
  expect(shop.exchanged).toEqual([
    {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      audience: "files",
      client: `Basic ${btoa("runtime:s3cret")}`,
    },
  ]);
});

test("the function of the page can be called with a token in a test, and says so if the exchange is refused", async () => {
  await using shop = await start("token-of-ada");
  const call = { role: "staff", functionName: "list_files", input: { folder: "a" } };
  const caller = { subject: "ada", issuer: "https://id.example", claims: {} };

  expect(await callAs(shop.service, { ...call, caller: { ...caller, token: "token-of-ada" } })).toMatchObject({
    value: result,
  });
  expect(await callAs(shop.service, { ...call, caller: { ...caller, token: "another" } })).toMatchObject({
    code: "function_failed",
    message: expect.stringContaining("You have no access"),
  });
  expect(await callAs(shop.service, { ...call, caller })).toMatchObject({ code: "caller_token_expired" });
  expect(await callAs(shop.service, call)).toMatchObject({ code: "denied", rule: "caller_token" });
});
