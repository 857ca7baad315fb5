import { mkdir, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "@hono/node-server";
import { defineFunction, defineService } from "@patchbay/functions";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callsOnce } from "../support/call-models.ts";
import { startSystem } from "@patchbay/test-support/system";
import { UiChat } from "../support/ui-chat.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/chat.md"), "utf8");
const [nextRoute = "", honoRoute = ""] = [...page.matchAll(/```ts\n(.*?)```/gs)]
  .map(([, code = ""]) => code)
  .filter((code) => code.includes("handleChat"));

type Handler = (request: Request) => Response | Promise<Response>;

// Inside the repository, so that the routes find the packages.
const folder = join(root, `test/output/chat-page-${process.pid}`);
beforeEach(() => mkdir(folder, { recursive: true }));
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  await rm(folder, { recursive: true, force: true });
});

async function load<Module>(name: string, code: string): Promise<Module> {
  const file = join(folder, name);
  await writeFile(file, code);
  return (await import(pathToFileURL(file).href)) as Module;
}

async function listen(fetch: Handler) {
  const server = serve({ fetch, hostname: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    api: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

const fromPage = (cookie: string) => ({ "Sec-Fetch-Site": "same-origin", cookie });

/** A desk whose function records its callers. */
async function startDesk() {
  const callers: unknown[] = [];
  const look = defineFunction({
    name: "look_up",
    description: "Looks up an order.",
    input: { type: "object", properties: {} },
    roles: ["customer"],
    handler: (_input, { role, context }) => void callers.push({ role, context }),
  });
  const service = defineService({ name: "desk", functions: [look] });
  const system = await startSystem({ service, model: callsOnce("look_up", {}) });
  return { system, callers };
}

test("the route for Next.js answers the page of a person who is signed in, and again after a reload", async () => {
  const { system, callers } = await startDesk();
  await using _system = system;
  vi.stubEnv("PATCHBAY_URL", system.url);
  vi.stubEnv("PATCHBAY_AGENT", system.agentId);
  vi.stubEnv("PATCHBAY_API_KEY", system.apiKey);
  vi.stubGlobal("sessionOf", async (request: Request) =>
    request.headers.get("cookie") === "session=ana" ? { role: "customer", customerId: "ana" } : undefined,
  );
  const route = await load<Record<string, Handler>>("route.ts", nextRoute);
  await using server = await listen((request) => route[request.method]!(request));
  const ana = new UiChat(server.api, { id: "chat", headers: fromPage("session=ana") });

  await ana.sendMessage({ text: "Where is my order?" });
  const stored = await fetch(`${server.api}/chat/messages`, { headers: fromPage("session=ana") });
  const strange = await fetch(`${server.api}/chat/messages`, { headers: fromPage("session=ben") });

  expect(ana.texts).toEqual(["user: Where is my order?", "assistant: Done."]);
  expect(callers).toEqual([{ role: "customer", context: { customerId: "ana" } }]);
  expect(await stored.json()).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }] });
  expect([strange.status, await strange.text()]).toEqual([401, "Sign in first."]);
});

test("the route for Hono answers its page", async () => {
  const { system, callers } = await startDesk();
  await using _system = system;
  const own = honoRoute
    .replace("http://127.0.0.1:8787", system.url)
    .replace("agt_…", system.agentId)
    .replace("service_live_…", system.apiKey);
  const { app } = await load<{ app: { fetch: Handler } }>("hono.ts", `${own}\nexport { app };\n`);
  await using server = await listen((request) => app.fetch(request));
  const chat = new UiChat(server.api, { id: "chat", headers: fromPage("") });

  await chat.sendMessage({ text: "Where is my order?" });

  expect(chat.texts).toEqual(["user: Where is my order?", "assistant: Done."]);
  expect(callers).toEqual([{ role: "customer", context: {} }]);
});
