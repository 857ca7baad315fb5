import { execFile } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serve } from "@hono/node-server";
import { createOfflineProvider, type ModelProvider } from "@patchbay/control-plane";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createChatServer } from "../../examples/chat/server.ts";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { expectAccessible } from "../console/support/page-checks.ts";
import { hasBrowser, visit } from "../support/browser.ts";
import { retailRecords } from "../support/retail.ts";
import { startSystem } from "@patchbay/test-support/system";

const example = fileURLToPath(new URL("../../examples/chat/", import.meta.url));

const SLOWLY = "Count slowly";

/** The offline model, but to `SLOWLY` it calls a function, and then stops in the middle of the answer. */
function pausingModel() {
  const offline = createOfflineProvider();
  let pause: PromiseWithResolvers<void> | undefined;
  let aborted = false;
  const model: ModelProvider = {
    name: offline.name,
    async *stream(request, options) {
      const asked = request.messages.findLast(({ role }) => role === "user");
      if (asked?.role !== "user" || asked.text !== SLOWLY) {
        yield* offline.stream(request, options);
        return;
      }
      const usage = { input: 1, cachedInput: 0, output: 1 };
      const turn = { model: request.model, text: "", thoughts: [], calls: [], usage };
      if (request.messages.at(-1) === asked) {
        const call = { id: "call_1", name: "calculate", arguments: '{"expression":"1 + 1"}' };
        yield { type: "end", turn: { ...turn, calls: [call], stop: "calls" } };
        return;
      }
      pause = Promise.withResolvers<void>();
      options.signal.addEventListener("abort", () => {
        aborted = true;
        pause?.reject(options.signal.reason);
      });
      yield { type: "textDelta", text: "One, " };
      await pause.promise;
      yield { type: "textDelta", text: "two." };
      yield { type: "end", turn: { ...turn, text: "One, two.", stop: "stop" } };
    },
  };
  return { model, pause: () => pause, aborted: () => aborted };
}

describe.skipIf(!hasBrowser)("the chat example", () => {
  let system: Awaited<ReturnType<typeof startSystem>>;
  let page: Awaited<ReturnType<typeof mkdtempDisposable>>;
  const pausing = pausingModel();
  let server: ReturnType<typeof serve>;
  let origin: string;

  beforeAll(async () => {
    page = await mkdtempDisposable(join(tmpdir(), "patchbay-chat-"));
    const build = [join(example, "node_modules/vite/bin/vite.js"), "build", "--outDir", page.path];
    // With any other value, Vite would bundle React's development build.
    const env = { ...process.env, NODE_ENV: "production" };
    await promisify(execFile)(process.execPath, build, { cwd: example, env });

    const desk = createRetailDesk(createRetailStore(() => structuredClone(retailRecords)));
    system = await startSystem({ service: desk, model: pausing.model });
    const { agentId: agent, apiKey: key, url } = system;
    const approver = await system.plane.admin.createKey({
      agentId: agent,
      roles: ["agent", "manager"],
      can: ["approve"],
    });
    const { fetch } = createChatServer({ url, agent, key, approverKey: approver.apiKey, page: page.path });
    server = serve({ fetch, hostname: "127.0.0.1", port: 0 });
    await new Promise((resolve) => server.once("listening", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await system[Symbol.asyncDispose]();
    await page[Symbol.asyncDispose]();
  });

  const be = (page: Page, person: string) => page.getByLabel("Signed in as").selectOption(person);
  const answers = (page: Page) => page.getByRole("listitem", { name: "Desk" });

  async function openAs(person: string): Promise<Page> {
    const { page } = await visit(origin);
    await page.goto("/");
    await be(page, person);
    return page;
  }

  async function say(page: Page, text: string): Promise<void> {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.getByRole("button", { name: "Send" }).click();
  }

  test("the desk refuses a customer the order of somebody else, and shows it to an agent", async () => {
    const page = await openAs("umar");

    await page.getByRole("button", { name: "What is the status of order #W9364614?" }).click();
    await answers(page)
      .getByText("get_order_details: Not permitted: customers may use only their own orders.")
      .waitFor();
    await say(page, "What is the status of order #W5896769?");
    await answers(page).nth(1).getByText("get_order_details: done").waitFor();
    await be(page, "alma");
    await page.getByLabel("Suggestions").waitFor();
    await say(page, "What is the status of order #W9364614?");

    await answers(page).getByText("get_order_details: done").waitFor();
    expect(await answers(page).count()).toBe(1);
    await expectAccessible(page);
    await be(page, "umar");
    await answers(page).nth(1).waitFor();
    expect(await answers(page).count()).toBe(2);
  });

  test("a refund above the limit of an agent continues in the same message when a manager approves it", async () => {
    const agent = await openAs("alma");
    await say(agent, "Refund 150 of order #W5896769 as goodwill because the parcel was late");
    await answers(agent).getByText("grant_goodwill_refund: waits for a manager").waitFor();

    const manager = await openAs("mona");
    const request = manager.getByRole("article", { name: "grant_goodwill_refund" });
    await request.getByText("A goodwill refund above 100 needs a manager: 150 of 992.68 paid.").waitFor();
    await request.getByRole("button", { name: "Approve" }).click();
    await manager.getByText("No call waits for you.").waitFor();

    await answers(agent).getByText("grant_goodwill_refund: done").waitFor();
    await answers(agent).getByRole("paragraph").first().waitFor();
    expect(await answers(agent).count()).toBe(1);
  });

  test("a reload in the middle of an answer continues it as one message", async () => {
    const page = await openAs("mona");
    await say(page, SLOWLY);
    await answers(page).getByText("calculate: done").waitFor();

    await page.reload();
    await answers(page).getByText("calculate: done").waitFor();
    await expect.poll(pausing.pause).toBeDefined();
    pausing.pause()?.resolve();

    await answers(page).getByText("One, two.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    const shown = () => page.getByRole("listitem").allInnerTexts();
    expect(await shown()).toEqual([SLOWLY, expect.stringMatching(/^calculate: done\s+One, two\.$/)]);
    await page.reload();
    await answers(page).getByText("One, two.", { exact: true }).waitFor();
    expect(await shown()).toHaveLength(2);
  });

  test("an answer that ends before the reloaded page asks for its stream is shown", async () => {
    const page = await openAs("mona");
    await say(page, SLOWLY);
    await answers(page).getByText("calculate: done").waitFor();
    await expect.poll(pausing.pause).toBeDefined();
    const asked = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<void>();
    await page.route("**/api/chat/*/stream", async (route) => {
      asked.resolve(route.request().url());
      await ended.promise;
      await route.continue();
    });
    await page.reload();
    const chat = (await asked.promise).replace(/stream$/, "messages");

    pausing.pause()?.resolve();
    await expect.poll(async () => (await page.request.get(chat)).text()).toContain("One, two.");
    ended.resolve();

    await answers(page).getByText("One, two.", { exact: true }).waitFor();
  });

  test("Stop ends an answer on the service", async () => {
    const page = await openAs("mona");
    await say(page, SLOWLY);
    await answers(page).getByText("calculate: done").waitFor();

    await page.getByRole("button", { name: "Stop" }).click();

    await page.getByRole("button", { name: "Send" }).waitFor();
    await expect.poll(pausing.aborted).toBe(true);
  });
});
