import { type Kysely, sql } from "kysely";

/** The lock file of a service, as the newest runtime with the function set reported it, and since when it did. */
export async function accessLocks(db: Kysely<unknown>) {
  await sql`alter table manifests add column access_lock text`.execute(db);
  await sql`alter table manifests add column lock_since bigint`.execute(db);
}
