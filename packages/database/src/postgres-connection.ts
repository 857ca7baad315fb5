import { monotonicMs } from "@patchbay/kit/time";
import type { PoolClient } from "pg";
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  type RootOperationNode,
  SelectQueryNode,
} from "kysely";
import {
  explainConnectError,
  isConnectionLost,
  isConnectionSpent,
  isStale,
  translatePostgresError,
} from "./postgres-errors.ts";
import { type Answer, Exchange, type Sendable } from "./postgres-exchange.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import { storedText } from "./stored-text.ts";

/** A compiled query that a connection may keep prepared under its `name`. */
export interface NamedQuery<Row = unknown> extends CompiledQuery<Row> {
  name: string;
}

/** Value for a connection's `patchbay.org` that gives access to all organisations. */
export const EVERY_ORG = "*";
/** A connection that was idle for longer is tested before a write: the server may have closed it unnoticed. */
const TRUSTED_MS = 1_000;

/** Tests whether a connection is alive. */
const TEST: Sendable = { text: "select 1" };

/** The state of a pooled connection. */
interface Session {
  usedAt: number;
  /** Names of the statements that the server has prepared for the connection. */
  prepared: Set<string>;
}

/** What is known about each pooled connection, while the pool keeps it. */
export type Sessions = WeakMap<PoolClient, Session>;

/**
 * A pooled connection while borrowed. Every statement runs as the `scope` organisation, which row-level security
 * enforces: the statement that sets it comes in the same message and lasts for the same transaction, so the connection
 * itself belongs to no organisation. A connection that died in the pool is replaced before its first statement, so that
 * a database restart or a proxy's idle timeout does not fail queries.
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
  /** The transaction, which the server begins with its first statement. */
  #transaction: { org: string; begun: boolean } | undefined;

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
    this.#session.usedAt = monotonicMs();
    this.#release(this.#spent || this.#client.getTransactionStatus() !== "I");
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const org = this.#scope();
    const statement = this.#sendable(query);
    return await this.#translated(async () => {
      if (this.#transaction) {
        if (this.#transaction.org !== org) throw new Error("a transaction cannot change its organisation");
        return toResult<Row>(await this.#inTransaction(this.#transaction, statement));
      }
      const send = () => this.#send([this.#asOrg(org), statement]);
      if (isRead(query.query)) return toResult<Row>(await this.#retryIfDead(() => this.#retryIfStale(send)));
      if (!this.#proven && monotonicMs() - this.#session.usedAt >= TRUSTED_MS)
        await this.#retryIfDead(() => this.#send([TEST]));
      return toResult<Row>(await this.#retryIfStale(send));
    });
  }

  // oxlint-disable-next-line require-yield -- there is nothing to yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("the store reads pages, not streams");
  }

  begin(): void {
    this.#transaction = { org: this.#scope(), begun: false };
  }

  /** The first statement begins the transaction. It may be repeated: without a commit it has no effect. */
  async #inTransaction(transaction: { org: string; begun: boolean }, statement: Sendable): Promise<Answer> {
    if (transaction.begun) return this.#send([statement]);
    return this.#retryIfDead(async () => {
      const begin = this.#named({ name: "patchbay_begin", text: "begin" });
      const exchange = this.#exchange([begin, this.#asOrg(transaction.org), statement]);
      try {
        return await this.#run(exchange);
      } finally {
        transaction.begun = exchange.completed > 0;
      }
    });
  }

  async commit(): Promise<void> {
    const begun = this.#transaction?.begun;
    if (begun)
      await this.#translated(async () => {
        const { command } = await this.#send([this.#named({ name: "patchbay_commit", text: "commit" })]);
        // The server's answer to the commit of a transaction with a failed statement.
        if (command === "ROLLBACK") {
          this.#transaction = undefined;
          throw new AbortedTransactionError();
        }
      });
    this.#transaction = undefined;
  }

  /** When the rollback cannot be sent, the connection is closed, which ends the transaction on the server. */
  async rollback(): Promise<void> {
    if (this.#spent || !this.#transaction?.begun) return;
    try {
      await this.#send([{ text: "rollback" }]);
      this.#transaction = undefined;
    } catch {
      this.#spent = true;
    }
  }

  /** Sets the organisation until the transaction ends, or the exchange outside a transaction. */
  #asOrg(org: string): Sendable {
    return this.#named({
      name: "patchbay_org",
      text: "select set_config('patchbay.org', $1, true)",
      values: [encoded(org)],
    });
  }

  #sendable(query: CompiledQuery | NamedQuery): Sendable {
    const values = query.parameters.map(encoded);
    return this.#named({ text: query.sql, values, ...("name" in query && { name: query.name }) });
  }

  #named(statement: Sendable): Sendable {
    return this.#source.prepare ? statement : { ...statement, name: undefined };
  }

  #send(statements: Sendable[]): Promise<Answer> {
    return this.#run(this.#exchange(statements));
  }

  #exchange(statements: Sendable[]): Exchange {
    return new Exchange(statements, this.#session.prepared, this.#source.parsers);
  }

  #run(exchange: Exchange): Promise<Answer> {
    return new Promise((resolve, reject) => {
      exchange.callback = (error, answer) => (answer ? resolve(answer) : reject(error));
      this.#client.query(exchange);
    });
  }

  /** Repeats a statement that the server did not execute because the connection's prepared form is stale. */
  async #retryIfStale<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!isStale(error)) throw error;
      return attempt();
    }
  }

  /**
   * Runs an attempt that may be repeated, and repeats it on another connection if this one has died in the pool. After
   * the first answer nothing is repeated: a lost connection could hide a completed write.
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
    const session = { usedAt: monotonicMs(), prepared: new Set<string>() };
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

/** Writes a value as the server reads it. */
function encoded(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `{${value.map(encodedElement).join()}}`;
  if (typeof value === "object" && "toPostgres" in value) return encoded((value.toPostgres as () => unknown)());
  if (typeof value === "object") throw new TypeError("a value of a statement must be a scalar or an array of them");
  const scalar = value as string | number | bigint | boolean;
  return storedText(String(scalar)) as string;
}

function encodedElement(value: unknown): string {
  const text = encoded(value);
  return text === null ? "NULL" : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** True for a select that changes nothing, also in its `with`. Functions that change rows must be called by raw SQL. */
function isRead(node: RootOperationNode): boolean {
  return (
    SelectQueryNode.is(node) && (node.with?.expressions ?? []).every(({ expression }) => SelectQueryNode.is(expression))
  );
}

function toResult<Row>({ command, count, rows }: Answer): QueryResult<Row> {
  const changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].includes(command);
  return { rows: rows as Row[], ...(changes && { numAffectedRows: BigInt(count) }) };
}
