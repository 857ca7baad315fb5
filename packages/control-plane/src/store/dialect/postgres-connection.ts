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

/** What a connection's `patchbay.org` is where all organisations are meant. */
export const EVERY_ORG = "*";
/** After this long in the pool a connection is tried before it is given a statement that must not be done twice. */
const TRUSTED_MS = 1_000;

/** What is known of a connection in the pool. */
interface Session {
  /** Its `patchbay.org`, outside of transactions. */
  org?: string;
  usedAt: number;
}

export type Sessions = WeakMap<PoolClient, Session>;

/**
 * One connection as its borrower has it: every statement runs as the organisation of `scope`, and one that died in the pool
 * is replaced before anything was done on it.
 */
export class PostgresConnection implements DatabaseConnection {
  readonly #source: PostgresPool;
  readonly #sessions: Sessions;
  readonly #scope: () => string;
  #client: PoolClient;
  #session: Session;
  /** True once the server answered this borrower, or when nobody had the connection before. */
  #proven = false;
  #spent = false;
  #released = false;
  /** Whose the open transaction is. */
  #transactionOf: string | undefined;

  private constructor(source: PostgresPool, sessions: Sessions, scope: () => string, client: PoolClient) {
    this.#source = source;
    this.#sessions = sessions;
    this.#scope = scope;
    this.#client = client;
    this.#session = this.#knownOf(client);
  }

  static async borrow(source: PostgresPool, sessions: Sessions, scope: () => string): Promise<PostgresConnection> {
    return new PostgresConnection(source, sessions, scope, await connect(source));
  }

  giveBack(): void {
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
        if (this.#transactionOf !== org) throw new Error("a transaction serves the organisation it began for, alone");
        return toResult<Row>(await send());
      }
      if (SelectQueryNode.is(query.query)) {
        return toResult<Row>(
          await this.#first(async () => {
            await this.#serve(org);
            return send();
          }),
        );
      }
      await this.#first(() => this.#serve(org, { prove: true }));
      return toResult<Row>(await send());
    });
  }

  // oxlint-disable-next-line require-yield -- there is nothing to yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("the store reads in pages, never in streams");
  }

  /** The organisation goes with the statement that begins the transaction, and ends with it. */
  async begin(): Promise<void> {
    const org = this.#scope();
    await this.#translated(() =>
      this.#first(() => {
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
      // How the server answers the commit of a transaction in which a statement failed.
      if (command === "ROLLBACK") throw new AbortedTransactionError();
    });
  }

  /** Where it cannot be said, the connection goes, and with it the transaction. */
  async rollback(): Promise<void> {
    if (this.#spent || this.#transactionOf === undefined) return;
    try {
      await this.#client.query("rollback");
      this.#transactionOf = undefined;
    } catch {
      this.#spent = true;
    }
  }

  /** Gives the connection to an organisation. `prove`: not without an answer of the server, where it may have died. */
  async #serve(org: string, { prove = false } = {}): Promise<void> {
    const doubtful = prove && !this.#proven && performance.now() - this.#session.usedAt >= TRUSTED_MS;
    if (this.#session.org === org && !doubtful) return;
    delete this.#session.org;
    await this.#client.query("select set_config('patchbay.org', $1, false)", [storable(org)]);
    this.#session.org = org;
  }

  /** Does what may be done twice: once more on another connection, where this one died before its borrower had it. */
  async #first<T>(attempt: () => Promise<T>): Promise<T> {
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
        this.#session = this.#knownOf(this.#client);
      }
    }
  }

  #knownOf(client: PoolClient): Session {
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

/** Postgres has no place for NUL in a text. */
function storable<T>(value: T): T | string {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}

function toResult<Row>({ command, rowCount, rows }: PgResult<Row & object>): QueryResult<Row> {
  const changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(command);
  return { rows, ...(changes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
}
