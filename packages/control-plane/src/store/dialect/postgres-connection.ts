import type { PoolClient, QueryResult as PgResult } from "pg";
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  SelectQueryNode,
} from "kysely";
import { explainConnectError, isConnectionLost, isConnectionSpent, translatePostgresError } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Value of a connection's `patchbay.org` that gives access to all organisations. */
export const EVERY_ORG = "*";
/** A connection that was idle for longer is tested before a write: the server may have closed it unnoticed. */
const TRUSTED_MS = 1_000;

/** State of a connection in the pool. */
interface Session {
  /** Its `patchbay.org` outside of transactions; undefined when unknown. */
  org?: string;
  usedAt: number;
}

/** What is known of each pooled connection, as long as the pool keeps it. */
export type Sessions = WeakMap<PoolClient, Session>;

/**
 * A pooled connection during one borrowing. Every statement runs as the organisation of `scope`, which row-level security
 * enforces. A connection that died in the pool is replaced before its first statement, so that a restart of the database or a
 * proxy's idle timeout does not fail queries.
 */
export class PostgresConnection implements DatabaseConnection {
  readonly #source: PostgresPool;
  readonly #sessions: Sessions;
  readonly #scope: () => string;
  #client: PoolClient;
  #session: Session;
  /** True when the connection is new or the server has answered this borrower. Statements are then never repeated. */
  #proven = false;
  #spent = false;
  #released = false;
  /** Organisation of the open transaction. */
  #transactionOf: string | undefined;

  private constructor(source: PostgresPool, sessions: Sessions, scope: () => string, client: PoolClient) {
    this.#source = source;
    this.#sessions = sessions;
    this.#scope = scope;
    this.#client = client;
    this.#session = this.#sessionOf(client);
  }

  static async borrow(source: PostgresPool, sessions: Sessions, scope: () => string): Promise<PostgresConnection> {
    return new PostgresConnection(source, sessions, scope, await connect(source));
  }

  release(): void {
    if (this.#released) return;
    this.#session.usedAt = performance.now();
    this.#release(this.#spent || this.#client.getTransactionStatus() !== "I");
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const org = this.#scope();
    const values = query.parameters.map(storable);
    const send = () => this.#client.query<Row & object>(query.sql, values);
    return await this.#translated(async () => {
      if (this.#transactionOf !== undefined) {
        if (this.#transactionOf !== org) throw new Error("a transaction cannot change its organisation");
        return toResult<Row>(await send());
      }
      if (SelectQueryNode.is(query.query)) {
        return toResult<Row>(
          await this.#retryIfDead(async () => {
            await this.#setOrg(org);
            return send();
          }),
        );
      }
      await this.#retryIfDead(() => this.#setOrg(org, { prove: true }));
      return toResult<Row>(await send());
    });
  }

  // oxlint-disable-next-line require-yield -- there is nothing to yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("the store reads pages, not streams");
  }

  /** Sets the organisation in the same round trip as `begin`. `set local` ends with the transaction. */
  async begin(): Promise<void> {
    const org = this.#scope();
    await this.#translated(() =>
      this.#retryIfDead(() => {
        const also =
          this.#session.org === org ? "" : `; set local patchbay.org = ${this.#source.literal(storable(org))}`;
        return this.#client.query(`begin${also}`);
      }),
    );
    this.#transactionOf = org;
  }

  async commit(): Promise<void> {
    await this.#translated(async () => {
      const { command } = await this.#client.query("commit");
      this.#transactionOf = undefined;
      // The server's answer to the commit of a transaction in which a statement has failed.
      if (command === "ROLLBACK") throw new AbortedTransactionError();
    });
  }

  /** When the rollback cannot be sent, the connection is closed, which ends the transaction on the server. */
  async rollback(): Promise<void> {
    if (this.#spent || this.#transactionOf === undefined) return;
    try {
      await this.#client.query("rollback");
      this.#transactionOf = undefined;
    } catch {
      this.#spent = true;
    }
  }

  /** Sets the connection's organisation. `prove`: also get an answer from the server when the connection may have died. */
  async #setOrg(org: string, { prove = false } = {}): Promise<void> {
    const doubtful = prove && !this.#proven && performance.now() - this.#session.usedAt >= TRUSTED_MS;
    if (this.#session.org === org && !doubtful) return;
    delete this.#session.org;
    await this.#client.query("select set_config('patchbay.org', $1, false)", [storable(org)]);
    this.#session.org = org;
  }

  /**
   * Runs an attempt that may be repeated, and repeats it on another connection when this one turns out to have died in the
   * pool. After the first answer nothing is repeated: a lost connection could hide a completed write.
   */
  async #retryIfDead<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await attempt();
        this.#proven = true;
        return result;
      } catch (error) {
        if (this.#proven || !isConnectionLost(error)) throw error;
        this.#release(true);
        this.#client = await connect(this.#source);
        this.#released = false;
        this.#session = this.#sessionOf(this.#client);
      }
    }
  }

  #sessionOf(client: PoolClient): Session {
    const known = this.#sessions.get(client);
    if (known) return known;
    this.#proven = true;
    const session = { usedAt: performance.now() };
    this.#sessions.set(client, session);
    return session;
  }

  #release(spent: boolean): void {
    this.#released = true;
    this.#client.release(spent);
  }

  async #translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isConnectionSpent(error)) this.#spent = true;
      throw translatePostgresError(error);
    }
  }
}

async function connect({ pool, target }: PostgresPool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw explainConnectError(error, target);
  }
}

/** Postgres cannot store NUL in text. */
function storable<T>(value: T): T | string {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}

function toResult<Row>({ command, rowCount, rows }: PgResult<Row & object>): QueryResult<Row> {
  const changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(command);
  return { rows, ...(changes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
}
