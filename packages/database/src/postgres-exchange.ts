import type { Connection, FieldDef, Submittable } from "pg";

/** A statement. Only one with a `name` is kept prepared by its connection. */
export interface Sendable {
  text: string;
  name?: string | undefined;
  values?: (string | null)[];
}

/** The answer to an exchange's last statement. */
export interface Answer {
  rows: object[];
  /** First word of the command tag, such as `INSERT`. */
  command: string;
  /** Rows that the statement returned or changed. */
  count: number;
}

/** Returns the function that reads a type's values from text. */
export type Parsers = (typeId: number) => (text: string) => unknown;

interface Column {
  name: string;
  parse: ReturnType<Parsers>;
}

/**
 * Statements that travel to the server and back together. The server executes them in order, skips the rest after an
 * error, and executes all of them in one transaction: the open one, the one that they begin, or one for the exchange.
 * Implements the methods that `pg` calls with the server's messages, as its cursors do.
 */
export class Exchange implements Submittable {
  /** Set by the sender; `pg` wraps it to limit the time. */
  callback: (error: unknown, answer?: Answer) => void = () => undefined;
  /** Statements that the server has completed. */
  completed = 0;
  readonly #statements: readonly Sendable[];
  readonly #prepared: Set<string>;
  readonly #parsers: Parsers;
  readonly #answer: Answer = { rows: [], command: "", count: 0 };
  #columns: Column[] = [];
  /** A value that could not be read. Reported after the server's last message. */
  #unreadable: unknown;

  /** `prepared` are the names that the connection keeps. */
  constructor(statements: readonly Sendable[], prepared: Set<string>, parsers: Parsers) {
    this.#statements = statements;
    this.#prepared = prepared;
    this.#parsers = parsers;
  }

  submit(connection: Connection): void {
    const { stream } = connection;
    stream.cork();
    for (const statement of this.#statements) this.#write(connection, statement);
    connection.sync();
    stream.uncork();
  }

  /** A name is closed before it is prepared: after an error the server may know it already, and closing never fails. */
  #write(connection: Connection, { text, name = "", values = [] }: Sendable): void {
    if (!this.#prepared.has(name)) {
      if (name) connection.close({ type: "S", name }, true);
      connection.parse({ name, text, types: [] }, true);
      if (name) this.#prepared.add(name);
    }
    connection.bind({ statement: name, values }, true);
    connection.describe({ type: "P" }, true);
    connection.execute(null, true);
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parsers(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.completed < this.#statements.length - 1) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [at, { name, parse }] of this.#columns.entries()) {
        const text = fields[at] ?? null;
        row[name] = text === null ? null : parse(text);
      }
      this.#answer.rows.push(row);
    } catch (error) {
      this.#unreadable ??= error;
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.completed++;
    const words = text.split(" ");
    this.#answer.command = words[0]!;
    this.#answer.count = Number(words.at(-1)) || 0;
  }

  handleEmptyQuery(): void {
    this.completed++;
  }

  /** The server may have skipped statements that were to be prepared. */
  handleError(error: unknown): void {
    for (const { name } of this.#statements) if (name) this.#prepared.delete(name);
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#unreadable === undefined) this.callback(null, this.#answer);
    else this.callback(this.#unreadable);
  }
}
