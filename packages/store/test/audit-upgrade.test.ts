import { expect, test } from "vitest";
import { auditAdmin } from "../../server/src/accounts/admin-audit.ts";
import { type OpenStore, openStore } from "../src/open.ts";
import { earlierDatabase, ENGINE_NAMES } from "./earlier-version/place.ts";

test.each(ENGINE_NAMES)(
  "a database on %s of a version that did not record deletions from the audit log verifies with a note",
  async (engine) => {
    await using place = await earlierDatabase(engine);
    await place.execute("delete from audit");
    const verify = async (store: OpenStore) => auditAdmin(store).verifyAudit("org_1");

    const store = await openStore(place.url);
    await using _store = { [Symbol.asyncDispose]: () => store.close() };

    const notes = [expect.stringMatching(/^12 entries until 2025-12-02T00.* before deletions were recorded/)];
    expect(await verify(store)).toMatchObject({ faults: [], notes, deleted: { entries: 12, days: null }, unsealed: 1 });
    await store.audit.record([{ orgId: "org_1", action: "org.renamed" }]);
    for (let sealed = 0; sealed < 2;) sealed += await store.audit.seal({ settleMs: 0, orgId: "org_1" });
    expect(await verify(store)).toMatchObject({ faults: [], notes, unsealed: 0, entries: 2 });
    await place.execute("update audit_chains set base_entries = 10, entries = 12");
    expect((await verify(store)).faults).toEqual([
      expect.stringMatching(/is not what entry aud_deleted_org_1 records/),
    ]);
  },
);
