import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { createRetailDesk } from "../../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../../examples/retail-desk/store.ts";
import { browse } from "../../support/browser.ts";
import { deliveredOrder, pendingOrder, retailRecords } from "../../support/retail.ts";
import { startSystem, type SystemOptions } from "../../support/system.ts";

const consoleFolder = fileURLToPath(new URL("../../../packages/console/", import.meta.url));

/** Builds the console where its sources changed. Several test files may ask for it at once. */
export async function builtConsole(): Promise<string> {
  await promisify(execFile)(process.execPath, [`${consoleFolder}build.ts`]);
  return `${consoleFolder}dist`;
}

/** A service in this process that serves the console, with the retail desk connected to it. */
export async function startDeskConsole(options: SystemOptions = {}) {
  const desk = createRetailDesk(createRetailStore(() => structuredClone(retailRecords)));
  const system = await startSystem({ service: desk, consoleFiles: await builtConsole(), ...options });
  const { admin } = system.plane;
  return {
    ...system,
    admin,
    store: system.plane.store,
    /** Path of the agent's pages. */
    agentPath: `/console/agents/${system.agentId}`,
    /** Signs in as the organisation's owner, by the link that `patchbay dev` prints, and waits until the console is shown. */
    async signIn(page: Page): Promise<void> {
      await page.goto((await admin.members.signInLink(system.orgId)).path);
      await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    },
    /** What a browser keeps after signing in, for visits that begin there. */
    async signedInState() {
      const { page } = await browse(system.url);
      try {
        await page.goto((await admin.members.signInLink(system.orgId)).path);
        await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
        return await page.context().storageState();
      } finally {
        await page.context().close();
      }
    },
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  };
}

export type DeskConsole = Awaited<ReturnType<typeof startDeskConsole>>;

/** Queries of several roles: some with calls, one that is refused, one of two in a thread. They go through endpoint 1. */
export async function askAround({ query }: Pick<DeskConsole, "query">) {
  const customer = retailRecords.users[pendingOrder.ownerId];
  const session = { sessionId: "shop-7" };
  const first = await query(`What is the status of order ${pendingOrder.orderId}?`, { role: "agent", ...session });
  await query("What is 12 * (3 + 4)?", { role: "agent", threadId: first.threadId, ...session });
  await query(`What is the user id of ${customer?.email}?`, { role: "manager" });
  await query("Which product types are there?", { role: "customer" });
  const denied = await query(`What is the status of order ${deliveredOrder.orderId}?`, {
    role: "customer",
    contextJson: JSON.stringify({ customerId: pendingOrder.ownerId }),
  });
  return { answered: first, denied };
}
