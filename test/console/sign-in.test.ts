import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCommand, temporaryFolder, type Running } from "../../packages/cli/test/support/command.ts";
import { hasBrowser, visit, type VisitOptions } from "../support/browser.ts";
import { builtConsole } from "./support/desk-console.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery";

describe.skipIf(!hasBrowser)("signing in to a served control plane", () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  let service: { baseUrl: string; setupUrl: string };
  let origin: string;
  let database: string;

  beforeAll(async () => {
    await builtConsole();
    const data = stack.use(await temporaryFolder());
    database = join(data.path, "patchbay.db");
    const env = { PATCHBAY_PROVIDER: "offline" };
    const serve: Running = stack.use(
      startCommand(["serve", "--port", "0", "--json", "--data-dir", data.path], { env }),
    );
    service = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as typeof service;
    origin = new URL(service.setupUrl).origin;
  });

  /** Changes sessions in the database, to simulate the passing of time. */
  function alterSessions(change: string): void {
    const db = new DatabaseSync(database, { timeout: 10_000 });
    db.exec(`update console_sessions set ${change}`);
    db.close();
  }

  async function signIn(page: Page, password = PASSWORD): Promise<void> {
    await page.getByLabel("E-mail").fill(EMAIL);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  async function signedIn(options: VisitOptions = {}) {
    const visited = await visit(origin, { expects: [/^401 GET \/api\/session$/], ...options });
    await visited.page.goto("/console/sign-in");
    await signIn(visited.page);
    await visited.page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    return visited;
  }

  test.each([
    ["sign-in", "Sign in", "E-mail"],
    ["link#unknown", "Signing in", "Sign in with a password"],
  ])(
    "the page /%s has its frame while its code loads, and its heading stays in place",
    async (path, title, content) => {
      const { page, expect: allow } = await visit(origin);
      allow(/^(401 GET|404 POST) \/api\//);
      const held = Promise.withResolvers<void>();
      await page.route(/(sign-in|link)-page[^/]*\.js/, async (route) => {
        await held.promise;
        await route.continue();
      });
      await page.goto(`/console/${path}`, { waitUntil: "commit" });
      await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
      await page.getByText("Patchbay", { exact: true }).waitFor();
      const before = await page.getByRole("heading", { level: 1 }).boundingBox();

      held.resolve();
      await page.getByText(content, { exact: true }).waitFor();

      expect((await page.getByRole("heading", { level: 1 }).boundingBox())?.y).toBe(before?.y);
    },
  );

  test("the printed link sets up the owner, once", async () => {
    const { page, newPage } = await visit(origin, { expects: [/^404 POST \/api\/links$/] });
    await page.goto(service.setupUrl);
    await page.getByRole("heading", { level: 1, name: "Set up Patchbay" }).waitFor();
    await expectAccessible(page);

    await page.getByLabel("Organisation").fill("Acme");
    await page.getByLabel("Your name").fill("Ada");
    await page.getByLabel("E-mail").fill(EMAIL);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Set up" }).click();

    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    // The secret must not be in the URL, and so not in the history.
    expect(page.url()).toBe(`${origin}/console/agents`);
    const again = await newPage();
    await again.goto(service.setupUrl);
    await again.getByRole("heading", { level: 1, name: "This link does not work" }).waitFor();
  });

  test("a wrong password shows an error, the right one signs in, and signing out ends the session", async () => {
    const { page } = await visit(origin, { expects: [/^401 (GET|POST) \/api\/session$/] });
    await page.goto("/console/agents");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await signIn(page, "wrong horse battery");
    await page.getByRole("alert").waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/sign-in");

    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();

    await page.getByRole("button", { name: "Account of Ada" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.goto("/console/members");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });

  test("an expired session leads to the sign-in page, and then back to the page with its filters", async () => {
    const { page, expect: tolerate } = await signedIn();
    await page.goto("/console/audit?action=member");
    await settled(page);

    alterSessions("expires_at = 1");
    tolerate(/^401 GET \/api\//);
    // A click could meet the page while the live feed finds the expired session and leaves it.
    await page.goto("/console/members");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await signIn(page);

    await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
    alterSessions("expires_at = 1");
    await page.goto("/console/audit?action=member");
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    expect(new URL(page.url()).searchParams.get("action")).toBe("member");
  });

  test("creating an agent requires the password again after 15 minutes", async () => {
    const { page, expect: tolerate } = await signedIn();
    alterSessions("confirmed_until = 1");
    tolerate(/^403 POST \/api\/agents$/);
    tolerate(/^400 POST \/api\/session\/confirm$/);
    await page.getByRole("button", { name: "New agent" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("orders");
    await page.getByRole("button", { name: "Create agent" }).click();

    const confirmation = page.getByRole("dialog", { name: "Confirm it's you" });
    await confirmation.getByLabel("Password").fill("wrong horse battery");
    await confirmation.getByRole("button", { name: "Confirm" }).click();
    await confirmation.getByRole("alert").waitFor();
    await confirmation.getByLabel("Password").fill(PASSWORD);
    await confirmation.getByRole("button", { name: "Confirm" }).click();

    await page.getByRole("dialog", { name: "orders is ready" }).waitFor();
  });

  test("pages of another origin can neither post as the member nor read responses", async () => {
    const { page, newPage, expect: tolerate } = await signedIn();
    // Requests to other origins and their failures are the attack itself.
    tolerate(/./);
    const evil = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html").end(`<h1>Win</h1>
        <form method="post" action="${origin}/api/agents" enctype="text/plain">
          <input name='{"name":"planted","x":"' value='"}'><button>Win</button>
        </form>`);
    }).listen(0, "127.0.0.1");
    await once(evil, "listening");
    // SameSite cookies treat another port of the host as the same site and are sent: only the origin check rejects the request.
    const { port } = evil.address() as AddressInfo;
    const attacker = await newPage();
    const home = `http://${new URL(origin).hostname}:${port}/`;
    await attacker.goto(home);

    const read = await attacker.evaluate(async (url) => {
      const tries = [
        () => fetch(url, { credentials: "include" }),
        () =>
          fetch(url, {
            method: "POST",
            credentials: "include",
            headers: { "content-type": "application/json" },
            body: '{"name":"planted"}',
          }),
        () => fetch(url, { method: "POST", credentials: "include", mode: "no-cors", body: '{"name":"planted"}' }),
      ];
      return Promise.all(
        tries.map((run) =>
          run().then(
            ({ type }) => type,
            () => "refused",
          ),
        ),
      );
    }, `${origin}/api/agents`);
    const [answer] = await Promise.all([
      attacker.waitForResponse((response) => response.url() === `${origin}/api/agents`),
      attacker.getByRole("button", { name: "Win" }).click(),
    ]);
    evil.close();

    // The response to a no-cors request is opaque: the page cannot read it.
    expect(read).toEqual(["refused", "refused", "opaque"]);
    expect(answer.status()).toBe(403);
    expect((await answer.request().allHeaders())["cookie"]).toBeTruthy();
    await page.goto("/console/agents");
    await settled(page);
    await page.getByText("orders").first().waitFor();
    expect(await page.getByText("planted").count()).toBe(0);
  });
});
