import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createControlPlane } from "@patchbay/control-plane";
import { silentLog } from "@patchbay/kit";
import { expect, onTestFinished, test } from "vitest";
import { hasBrowser, visit } from "../support/browser.ts";
import { builtConsole } from "./support/desk-console.ts";
import { settled } from "./support/page-checks.ts";

test.skipIf(!hasBrowser)(
  "the console of a mounted control plane works below the prefix, also after a reload",
  async () => {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    const plane = await createControlPlane({
      database: "sqlite::memory:",
      port: false,
      publicUrl: `${origin}/tools/patchbay`,
      local: true,
      consoleFiles: await builtConsole(),
      log: silentLog,
    });
    onTestFinished(async () => {
      await plane.close();
      server.close().closeAllConnections();
    });
    server.on("request", (request, response) => {
      if (request.url?.startsWith("/tools/patchbay/")) plane.listener(request, response);
      else response.writeHead(404).end();
    });
    const { agentId, orgId } = await plane.admin.createAgent("Shop");
    const { path } = await plane.admin.members.signInLink(orgId);

    // A request outside of the prefix is a fault; an agent without a runtime has no functions.
    const { page } = await visit(origin, { expects: [/404 GET .*\/functions$/] });
    await page.goto(`/tools/patchbay${path}`);
    await page.getByRole("link", { name: "Shop" }).first().click();
    await settled(page);
    expect(new URL(page.url()).pathname).toBe(`/tools/patchbay/console/agents/${agentId}`);
    await page.getByRole("link", { name: "Runs" }).click();
    await page.reload();
    await settled(page);
    expect(new URL(page.url()).pathname).toBe(`/tools/patchbay/console/agents/${agentId}/runs`);
  },
);
