import { randomUUID } from "node:crypto";
import type { ConsoleRole } from "@patchbay/protocol/console";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { hashSecret } from "@patchbay/server/accounts/secret";
import type { VisitOptions } from "../../support/browser.ts";

type StorageState = NonNullable<VisitOptions["storageState"]>;

interface Service {
  store: Store;
  url: string;
}

/** The browser of a member with this console role, signed in. */
export async function memberState(service: Service, orgId: string, role: ConsoleRole): Promise<StorageState> {
  const memberId = `mem_${randomUUID()}`;
  const email = `${memberId}@example.com`;
  await service.store.members.create({ memberId, orgId, email, name: role, role, passwordHash: null });
  return sessionOf(service, memberId);
}

/** The browser of a member with a session, which did not need the pages of a sign-in. */
export async function sessionOf({ store, url }: Service, memberId: string): Promise<StorageState> {
  const secret = randomUUID();
  await store.signIn.openSession({ hash: hashSecret(secret), memberId });
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
