import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { createRetailDesk } from "../../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../../examples/retail-desk/store.ts";
import { hasBrowser, visit, type VisitOptions } from "../../support/browser.ts";
import { deliveredOrder, pendingOrder, retailRecords } from "../../support/retail.ts";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";
import { sessionOf } from "./members.ts";
import { settled } from "./page-checks.ts";

const consoleFolder = fileURLToPath(new URL("../../../packages/console/", import.meta.url));

/** Builds the console if its sources changed. Concurrent calls from several test files are safe. */
export async function builtConsole(): Promise<string> {
  await promisify(execFile)(process.execPath, [`${consoleFolder}build.ts`]);
  return `${consoleFolder}dist`;
}

/** A control plane in this process that serves the console, with the retail desk connected. */
async function startDeskConsole(options: SystemOptions = {}) {
  const desk = createRetailDesk(createRetailStore(() => structuredClone(retailRecords)));
  const system = await startSystem({ service: desk, consoleFiles: await builtConsole(), ...options });
  const { admin } = system.plane;
  return {
    ...system,
    admin,
    store: system.plane.store,
    /** The path of the agent's pages. */
    agentPath: `/console/agents/${system.agentId}`,
    /** The browser of an owner like that of `patchbay dev`, signed in. */
    async signedInState() {
      const { store } = system.plane;
      const owner = { memberId: "mem_developer", email: null, name: "Developer", passwordHash: null };
      await store.members.create({ ...owner, orgId: system.orgId, role: "owner" });
      return sessionOf({ store, url: system.url }, owner.memberId);
    },
  };
}

export type DeskConsole = Awaited<ReturnType<typeof startDeskConsole>>;

/** What the tests of `describeConsole` use. */
export interface ConsoleSuite {
  /** The control plane of the suite. */
  readonly desk: DeskConsole;
  /** Opens a browser with the session of the owner. */
  visit(options?: VisitOptions): ReturnType<typeof visit>;
  /** Opens a page of the console with the session of the owner and waits until it has loaded its data. */
  open(path: string, options?: VisitOptions): Promise<Page>;
}

/** Tests in Chromium against one control plane with the retail desk. `prepare` runs before the tests. */
export function describeConsole(
  name: string,
  { prepare, ...options }: SystemOptions & { prepare?: (desk: DeskConsole) => Promise<void> },
  define: (suite: ConsoleSuite) => void,
): void {
  describe.skipIf(!hasBrowser)(name, () => {
    let desk: DeskConsole;
    let storageState: NonNullable<VisitOptions["storageState"]>;
    beforeAll(async () => {
      desk = await startDeskConsole(options);
      await prepare?.(desk);
      storageState = await desk.signedInState();
    });
    afterAll(() => desk[Symbol.asyncDispose]());

    const suite: ConsoleSuite = {
      get desk() {
        return desk;
      },
      visit: (more) => visit(desk.url, { storageState, ...more }),
      async open(path, more) {
        const { page } = await suite.visit(more);
        await page.goto(path);
        await settled(page);
        return page;
      },
    };
    define(suite);
  });
}

/** Sends queries as several roles: with calls, with a denied call, and two in one thread. */
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
