import { PGlite } from "@electric-sql/pglite";

/** A message of Postgres's wire protocol. */
interface Message {
  type: string;
  body: Buffer;
  /** With type and length. */
  whole: Buffer;
}

/** What a session answers to an exchange. */
interface Answered {
  bytes: Buffer;
  /** True while a transaction is open. */
  inTransaction: boolean;
  /** The text of the last statement in the exchange. */
  last: string;
}

const IDLE = "I".charCodeAt(0);

/** The one session that PGlite has. All connections share its prepared statements: equal names have equal texts. */
export class PostgresSession {
  readonly #database: PGlite;
  /** Text by name. */
  readonly #prepared = new Map<string, string>();

  private constructor(database: PGlite) {
    this.#database = database;
  }

  /** Starts an empty database, whose owner row-level security binds. */
  static async start(): Promise<PostgresSession> {
    const session = new PostgresSession(await PGlite.create({ dataDir: "memory://" }));
    session.#run("create role patchbay login; alter database postgres owner to patchbay");
    session.#run("set session authorization patchbay");
    // With few rows, planning costs more than executing.
    session.#run("set plan_cache_mode = force_generic_plan");
    return session;
  }

  /** Deletes all rows, and what the database remembers about earlier ones. */
  empty(): void {
    this.rollback();
    this.#run(`do $$ declare used text[]; name text; found boolean; begin
      perform set_config('patchbay.org', '*', true);
      for name in select quote_ident(tablename) from pg_tables where schemaname = 'public' and tablename not like 'kysely%' loop
        execute 'select exists (select from ' || name || ')' into found;
        if found then used := used || name; end if;
      end loop;
      if used is not null then execute 'truncate ' || array_to_string(used, ', ') || ' restart identity cascade'; end if;
    end $$`);
    this.#run("discard plans");
  }

  rollback(): void {
    this.#run("rollback");
  }

  /** Executes an exchange at the time `wallMs`. Statements that the session has prepared are not prepared again. */
  execute(exchange: Buffer, wallMs: number): Answered {
    const known = [...messagesIn(exchange)];
    const parts: Buffer[] = [];
    const fresh = new Map<string, string>();
    let last = "";
    for (const { type, body, whole } of known) {
      const [first = "", second = ""] = body.toString("latin1").split("\0", 2);
      if (type === "C" && this.#prepared.has(first.slice(1))) continue;
      if (type === "P" && first !== "") {
        const text = body.toString().split("\0", 2)[1]!;
        if (this.#prepared.get(first) === text) continue;
        fresh.set(first, text);
      } else if (type === "P") last = second;
      if (type === "B" && second !== "") last = fresh.get(second) ?? this.#prepared.get(second) ?? "";
      parts.push(whole);
    }
    const bytes = this.#send(Buffer.concat(parts), wallMs);
    if (![...messagesIn(bytes)].some(({ type }) => type === "E"))
      for (const [name, text] of fresh) this.#prepared.set(name, text);
    return { bytes, inTransaction: bytes.at(-1) !== IDLE, last };
  }

  #run(sql: string): void {
    const text = Buffer.from(`${sql}\0`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length + 4);
    const answer = this.#send(Buffer.concat([Buffer.from("Q"), length, text]), Date.now());
    const error = [...messagesIn(answer)].find(({ type }) => type === "E");
    if (error) throw new Error(`${sql}: ${error.body.toString().replaceAll("\0", " ")}`);
  }

  /** PGlite reads this thread's clock. */
  #send(bytes: Buffer, wallMs: number): Buffer {
    const { now } = Date;
    Date.now = () => wallMs;
    try {
      return Buffer.from(this.#database.execProtocolRawSync(bytes).buffer);
    } finally {
      Date.now = now;
    }
  }
}

function* messagesIn(bytes: Buffer): Generator<Message> {
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + bytes.readUInt32BE(at + 1);
    yield { type: String.fromCharCode(bytes[at]!), body: bytes.subarray(at + 5, end), whole: bytes.subarray(at, end) };
    at = end;
  }
}
