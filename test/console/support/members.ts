import { randomUUID } from "node:crypto";
import type { ConsoleRole } from "@patchbay/protocol/console";
import { hashSecret } from "../../../packages/control-plane/src/accounts/secret.ts";
import type { VisitOptions } from "../../support/browser.ts";
import type { DeskConsole } from "./desk-console.ts";

/** The browser of a member with this console role, signed in. */
export async function memberState(
  { store, url }: Pick<DeskConsole, "store" | "url">,
  orgId: string,
  role: ConsoleRole,
): Promise<NonNullable<VisitOptions["storageState"]>> {
  const memberId = `mem_${randomUUID()}`;
  const secret = randomUUID();
  const { members, signIn } = store;
  await members.create({ memberId, orgId, email: `${memberId}@example.com`, name: role, role, passwordHash: null });
  await signIn.openSession({ hash: hashSecret(secret), memberId });
  const { hostname: domain, port } = new URL(url);
  const cookie = { name: `patchbay-${port}`, value: secret, domain, path: "/", expires: -1 };
  return { cookies: [{ ...cookie, httpOnly: true, secure: false, sameSite: "Strict" }], origins: [] };
}

/** Clicks of a member on a page, counted. */
export function countedClicks() {
  let count = 0;
  return {
    get count() {
      return count;
    },
    async click(target: { click(): Promise<void> }): Promise<void> {
      await target.click();
      count += 1;
    },
  };
}
