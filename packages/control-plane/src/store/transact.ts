import type { Transaction } from "kysely";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { Engine, Schema } from "./schema.ts";

const ATTEMPTS = 5;

/**
 * Does `work` in one transaction, and again from its beginning where the database took it back only because others were at
 * the same rows.
 *
 * Transactions lock rows in one order, so that they wait for one another and never in a circle: Idempotency-Key, thread, run,
 * call, balance. A run's state is decided under the lock of its row, a thread's queue under that of the thread.
 */
export async function transact<T>(engine: Engine, work: (trx: Engine) => Promise<T>): Promise<T> {
  const { health } = engine;
  try {
    const result = await repeat(engine, () =>
      engine.db.transaction().execute(async (trx) => work({ ...engine, db: trx, connection: await connectionOf(trx) })),
    );
    health.writable = true;
    return result;
  } catch (error) {
    if (error instanceof StoreUnavailable) health.writable = false;
    throw error;
  }
}

/** What a transaction has to itself until its end. */
const connectionOf = (trx: Transaction<Schema>) =>
  trx.getExecutor().provideConnection(async (connection) => connection);

/** Gives one statement that changes many rows again, where it and another one locked them crosswise. */
export async function repeat<T>({ dialect }: Engine, statement: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await statement();
    } catch (error) {
      if (attempt === ATTEMPTS || !dialect.retryable(error)) throw error;
    }
  }
}
