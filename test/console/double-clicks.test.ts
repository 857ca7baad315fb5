import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineFunction, defineService } from "@patchbay/functions";
import type { Page } from "playwright-core";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startReceiver } from "../../packages/server/test/webhooks/receiver.ts";
import { AGENT_DEEDS } from "./support/agent-deeds.ts";
import type { Stage } from "./support/deed.ts";
import { type DeskConsole, describeConsole } from "./support/desk-console.ts";
import { ORGANISATION_DEEDS } from "./support/organisation-deeds.ts";
import { settled } from "./support/page-checks.ts";
import { RUN_DEEDS } from "./support/run-deeds.ts";

const sources = fileURLToPath(new URL("../../packages/console/src/", import.meta.url));

/** Every change of the console that a button begins, without those below. */
const DEEDS = [...ORGANISATION_DEEDS, ...AGENT_DEEDS, ...RUN_DEEDS];

/** Actions with tests of their own below: the dialogs of every form and every rotation, the password, a lock file, a call in progress. */
const OTHERS = [
  "ui/form/dialog.tsx",
  "parts/secret/secret-dialogs.tsx",
  "shell/confirmation-dialog.tsx",
  "pages/access/changes-view.tsx",
  "pages/functions/test-call-outcome.tsx",
];
/** Requests within an action of another file, and links that a page reads. */
const WITHIN = ["main.tsx", "pages/playground/lane.ts"];

describe("the list of changes", () => {
  const files = globSync("**/*.{ts,tsx}", { cwd: sources }).map((file) => ({
    file,
    source: readFileSync(`${sources}${file}`, "utf8"),
  }));
  const countOf = (source: string, pattern: RegExp) => source.match(pattern)?.length ?? 0;

  test("has each action of the console", () => {
    const begun = Object.fromEntries(
      files
        .filter(({ file }) => file !== "api/action.ts" && !OTHERS.includes(file))
        .map(
          ({ file, source }) =>
            [file, countOf(source, /\buseAction(<[^>]*>)?\(|<(FormDialog|RotateSecret)\b/g)] as const,
        )
        .filter(([, count]) => count > 0),
    );
    const listed: Record<string, number> = {};
    for (const { at } of DEEDS.filter(({ twin }) => !twin)) listed[at] = (listed[at] ?? 0) + 1;
    expect(listed).toEqual(begun);
  });

  test("covers each file that sends a change", () => {
    const sending = files
      .filter(({ source }) => /\bapi\s*\.(post|put|patch|delete)\(|\bstart(Query|TestCall)\b\(/.test(source))
      .map(({ file }) => file);
    const covered = [...DEEDS.map(({ at }) => at), ...OTHERS, ...WITHIN, "api/stream.ts"];
    expect(sending.filter((file) => !covered.includes(file))).toEqual([]);
  });
});

const order = z.object({ order: z.string() });
const shop = (roles: string[]) =>
  defineService({
    name: "shop",
    roles: ["agent", "guest", "manager"],
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets the status of an order.",
        input: order,
        roles: ["agent"],
        effect: "read",
        handler: async () => "shipped",
      }),
      defineFunction({
        name: "refund_order",
        description: "Refunds an order.",
        input: order,
        roles,
        effect: "write",
        approval: { by: ["manager"], fourEyes: false },
        handler: async () => "refunded",
      }),
    ],
  });

let stage: Stage;

async function prepare({ admin, agentId, orgId, agentPath, query, store, connect }: DeskConsole): Promise<void> {
  const { runId, threadId } = await query("Get order W1", { role: "agent" });
  const { runId: waitingId } = await query("Refund order W1", { role: "agent" });
  const memberId = "mem_developer";
  await store.runs.recordFeedback({ runId, orgId, keyId: memberId }, { score: 1 });
  await store.views.add({ viewId: "view_1", orgId, agentId, memberId, name: "Late", shared: false, search: {} });
  await admin.serviceTokens.create({ orgId, scopes: ["agents:read"], label: "ci" });
  const { path: invitation } = await admin.members.invite({ orgId, email: "ann@example.com", role: "viewer" });
  const viewer = { memberId: "mem_viewer", email: "viewer@example.com", name: "viewer", passwordHash: null };
  await store.members.create({ ...viewer, orgId, role: "viewer" });
  const empty = await admin.createAgent("Empty", { orgId });
  await using receiver = await startReceiver();
  await admin.setWebhook(agentId, receiver.url);
  await admin.testWebhook(agentId);
  await receiver.received(1);
  const delivery = async () => (await admin.listDeliveries(agentId, { limit: 1 })).items[0]?.status;
  await vi.waitFor(async () => expect(await delivery()).toBe("delivered"));
  await admin.updateAgent(agentId, { accessChanges: "confirm" });
  await connect(shop(["agent", "guest"]), { deployment: "wider" });
  stage = { agent: agentPath, empty: `/console/agents/${empty.agentId}`, runId, waitingId, threadId, invitation };
}

const problem = (code: string) => JSON.stringify({ success: false, errorMessage: "Refused.", code, requestId: "r" });

/** Holds the matching requests of a page until `answer`, which refuses them, and counts them. */
async function held(page: Page, wanted: (method: string, url: string) => boolean) {
  const released = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const requests: string[] = [];
  await page.route("**/api/**", async (route) => {
    const request = route.request();
    if (!wanted(request.method(), request.url())) return route.fallback();
    requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
    arrived.resolve();
    await released.promise;
    return route.fulfill({ status: 409, contentType: "application/json", body: problem("conflict") });
  });
  return {
    requests,
    arrived: arrived.promise,
    /** Refuses the requests and waits until the page has handled the answer. */
    async answer() {
      const answered = page.waitForResponse((response) => response.status() === 409);
      released.resolve();
      await (await answered).finished();
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    },
  };
}

const changes = (method: string) => method !== "GET";
const FAULTS = { expects: [/^40[139] /] };

describeConsole("a double click", { service: shop(["agent"]), prepare, webhookNetworks: ["127.0.0.1"] }, (suite) => {
  /** Opens a page as a member who has a password, which a session of these tests does not need. */
  async function open(path: string, { signedOut = false } = {}): Promise<Page> {
    const { page } = await suite.visit({ ...FAULTS, ...(signedOut && { storageState: { cookies: [], origins: [] } }) });
    await page.route("**/api/session", async (route) => {
      if (route.request().method() !== "GET" || signedOut) return route.fallback();
      const response = await route.fetch();
      const session = (await response.json()) as { member: object };
      return route.fulfill({ response, json: { ...session, member: { ...session.member, hasPassword: true } } });
    });
    await page.goto(path);
    await settled(page);
    return page;
  }

  test.each(DEEDS)("sends once: $name", async ({ open: pathOf, button, request, signedOut }) => {
    const page = await open(pathOf(stage), { signedOut: signedOut === true });
    const target = await button(page);
    const sent = await held(page, (method, url) => (request ? request.test(url) : changes(method)));

    await target.dblclick();
    await sent.arrived;
    await sent.answer();

    // The requests of a change of several runs are one of each.
    expect(new Set(sent.requests).size).toBe(sent.requests.length);
    expect(sent.requests.length).toBeGreaterThan(0);
  });

  test("confirms the password once", async () => {
    const page = await open(`${stage.agent}/webhook`);
    let refused = false;
    const sent = await held(page, (_method, url) => url.endsWith("/session/confirm"));
    await page.route("**/webhook/test", (route) => {
      if (refused) return route.fallback();
      refused = true;
      const body = problem("confirmation_required");
      return route.fulfill({ status: 403, contentType: "application/json", body });
    });
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Confirm" }).dblclick();
    await sent.arrived;
    await sent.answer();

    expect(sent.requests).toHaveLength(1);
  });

  test("cancels a call in progress once", async () => {
    const page = await open(`${stage.agent}/functions/refund_order?role=agent&tab=try`);
    await page.getByRole("textbox", { name: /order/ }).fill("W2");
    await page.getByRole("button", { name: /^Call as agent/ }).click();
    await page.getByRole("main").getByText("waiting", { exact: true }).waitFor();
    const sent = await held(page, changes);
    await page.getByRole("button", { name: "Cancel call" }).dblclick();
    await sent.arrived;
    await sent.answer();

    expect(sent.requests).toHaveLength(1);
  });

  test("compares a lock file once, however often it is chosen", async () => {
    const page = await open(`${stage.agent}/access?view=changes`);
    const file = { name: "access.lock.json", mimeType: "application/json", buffer: Buffer.from("{}") };
    const sent = await held(page, changes);
    const input = page.getByLabel("Lock file");
    await input.setInputFiles(file);
    await sent.arrived;
    await input.setInputFiles({ ...file, name: "other.json" });
    await sent.answer();

    expect(sent.requests).toHaveLength(1);
  });

  test.each([
    ["a dialog", "/console/members", "E-mail", "Invite a member"],
    ["a form", "/console/settings", "Name", undefined],
  ])("on Enter in %s is as one on its button, as is a held key", async (_what, path, field, first) => {
    const page = await open(path);
    if (first !== undefined) await page.getByRole("button", { name: first }).click();
    const input = page.getByLabel(field, { exact: true });
    await input.fill("bob@example.com");
    const sent = await held(page, changes);
    await input.press("Enter");
    await input.press("Enter");
    await sent.arrived;
    await sent.answer();
    expect(sent.requests).toHaveLength(1);

    // The answer has ended the action: only the held key refuses to begin it again.
    await page.keyboard.down("Enter");
    await expect.poll(() => sent.requests.length).toBe(2);
    await page.getByText("Refused.").first().waitFor();
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect(sent.requests).toHaveLength(2);
  });

  test("whose first click is answered before the second makes one run", async () => {
    const { runId } = await suite.desk.query("Get order W9", { role: "agent" });
    const page = await open(`${stage.agent}/runs/${runId}`);
    const again = page.getByRole("button", { name: "Run again" });
    const { x, y, width, height } = (await again.boundingBox())!;
    const [at, above] = [x + width / 2, y + height / 2];
    await page.mouse.move(at, above);
    const posts: string[] = [];
    page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
    await page.mouse.down({ clickCount: 1 });
    await page.mouse.up({ clickCount: 1 });
    await page.getByText("Repeats").waitFor();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");

    expect(posts).toHaveLength(1);
    await again.click();
    await expect.poll(() => posts.length).toBe(2);
  });
});
