import type { Dialect, Expression, RawBuilder, SelectQueryBuilder } from "kysely";
import type { Schema } from "../schema.ts";

/** All that differs between the databases of a store. */
export interface StoreDialect {
  kysely: Dialect;
  /** Connections of their own for reads that may take long. Absent where `kysely` serves them. */
  reads?: Dialect;
  /** Milliseconds since the epoch by the database's clock, as a whole number. */
  now: RawBuilder<number>;
  /** Locks the rows of a claim and leaves out those that another replica is claiming. */
  lockForClaim<T extends keyof Schema, O>(query: SelectQueryBuilder<Schema, T, O>): SelectQueryBuilder<Schema, T, O>;
  /** Keeps the rows from being changed until the statement's transaction ends; waits for whoever is changing them. */
  lockShared<T extends keyof Schema, O>(query: SelectQueryBuilder<Schema, T, O>): SelectQueryBuilder<Schema, T, O>;
  /** Where `part`, which is no value of a user's, first stands in the text, counted from 1; 0 where it does not. */
  indexOf(text: Expression<string>, part: string): RawBuilder<number>;
  /** True for the error of a transaction that was taken back only because of others (a deadlock, a serialisation failure). */
  retryable(error: unknown): boolean;
  /** As `Store.within`. */
  within<T>(orgId: string, work: () => T): T;
}
