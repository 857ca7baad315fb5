import { Duplex } from "node:stream";
import type { PostgresSession } from "./postgres-session.ts";
import type { StoreFaults } from "./store.ts";
import type { Process, World } from "@patchbay/test-support/world";

/** As the product asks of its server. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/** AuthenticationOk, ReadyForQuery. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const STARTUP = 0;
const TERMINATE = "X".charCodeAt(0);

/** The network between a process and the database. */
export interface Link {
  process: Process;
  faults: StoreFaults;
  /** Exchanges that the process has sent. */
  sent: number;
}

interface Request {
  from: Connection;
  /** Undefined at the connection's end. */
  exchange: Buffer | undefined;
  /** Called after the execution, before the answer. */
  executed?: (() => void) | undefined;
}

/**
 * A Postgres server with simulated connections. Its session serves one transaction at a time: the exchanges of other
 * connections wait until the transaction ends.
 */
export class PostgresServer {
  readonly world: World;
  /** True while exchanges of replicas break their connections. */
  breaks = false;
  readonly #session: PostgresSession;
  readonly #waiting: Request[] = [];
  /** The connection whose transaction is open. */
  #holder: Connection | undefined;
  #served = 0;
  readonly #connections = new Set<Connection>();

  constructor(world: World, session: PostgresSession) {
    this.world = world;
    this.#session = session;
  }

  connect(link: Link): Duplex {
    const connection = new Connection(this, link);
    this.#connections.add(connection);
    link.process.onKill(() => connection.send(undefined));
    return connection;
  }

  /** Resets the connections of a process. */
  reset({ process }: Link): void {
    const { world } = this;
    for (const connection of this.#connections)
      if (connection.link.process === process) world.after(0, process, () => connection.fail("ECONNRESET"));
  }

  arrived(request: Request): void {
    if (request.exchange?.[0] === STARTUP) return request.from.answer(WELCOME);
    this.#waiting.push(request);
    this.#advance();
  }

  #advance(): void {
    for (;;) {
      const next = this.#waiting.findIndex(({ from }) => !this.#holder || from === this.#holder);
      if (next === -1) return;
      this.#serve(...(this.#waiting.splice(next, 1) as [Request]));
    }
  }

  #serve({ from, exchange, executed }: Request): void {
    if (!this.#connections.has(from)) return;
    if (!exchange || exchange[0] === TERMINATE) return this.#end(from);
    const { world } = this;
    const { bytes, inTransaction, last } = this.#session.execute(exchange, world.wallMs(world.machine));
    world.note(last.replaceAll(/\s+/g, " ").slice(0, 100), from.link.process);
    this.#holder = inTransaction ? from : undefined;
    const served = ++this.#served;
    if (inTransaction)
      world.after(IDLE_IN_TRANSACTION_MS, world.machine, () => {
        if (served === this.#served) this.#expire(from);
      });
    executed?.();
    from.answer(bytes);
  }

  #expire(holder: Connection): void {
    holder.answer(fatal("25P03", "terminating connection due to idle-in-transaction timeout"));
    this.#end(holder);
    this.#advance();
  }

  #end(connection: Connection): void {
    this.#connections.delete(connection);
    if (this.#holder === connection) this.#session.rollback();
    if (this.#holder === connection) this.#holder = undefined;
    connection.answer(null);
  }
}

/** The client's end of a connection, with the methods of a socket that `pg` calls. */
class Connection extends Duplex {
  readonly link: Link;
  readonly #server: PostgresServer;
  /** What is sent arrives in its order. */
  #arrivesAt = 0;
  #answeredAt = 0;

  constructor(server: PostgresServer, link: Link) {
    super({ allowHalfOpen: false });
    this.#server = server;
    this.link = link;
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  connect(): void {
    const { world } = this.#server;
    const { process, faults } = this.link;
    world.after(this.#latency(), process, () => {
      if (world.now < faults.lostUntil) this.fail("ECONNREFUSED");
      else this.emit("connect");
    });
  }

  /** The driver writes an exchange at once. */
  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "buffer", done);
  }

  override _write(exchange: Buffer, _encoding: string, done: () => void): void {
    const { world } = this.#server;
    const { process, faults } = this.link;
    const isLast = faults.killAt?.call === ++this.link.sent;
    if (isLast && !faults.killAt!.applied) process.kill();
    const breaks = this.#server.breaks && process !== world.machine && world.random.chance(0.03);
    const isSent = process.alive && !(breaks && world.random.chance(0.5));
    if (isSent) this.send(exchange, isLast ? () => process.kill() : undefined);
    if (breaks) world.after(world.random.between(0.1, 3), process, () => this.fail("ECONNRESET"));
    done();
  }

  override _read(): void {}

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { world } = this.#server;
    // The server may notice a broken connection much later.
    const noticedIn = error && world.random.chance(0.3) ? 20_000 : 0;
    world.after(noticedIn, world.machine, () => this.send(undefined));
    done(error);
  }

  /** Undefined ends the connection. */
  send(exchange: Buffer | undefined, executed?: () => void): void {
    const { world } = this.#server;
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#latency());
    world.after(this.#arrivesAt - world.now, world.machine, () =>
      this.#server.arrived({ from: this, exchange, executed }),
    );
  }

  /** Null ends the connection. */
  answer(bytes: Buffer | null): void {
    const { world } = this.#server;
    this.#answeredAt = Math.max(this.#answeredAt, world.now + this.#latency());
    world.after(this.#answeredAt - world.now, this.link.process, () => {
      if (!this.destroyed && !this.readableEnded) this.push(bytes);
    });
  }

  fail(code: "ECONNRESET" | "ECONNREFUSED"): void {
    this.destroy(Object.assign(new Error(`the connection failed: ${code}`), { code }));
  }

  #latency(): number {
    return this.#server.world.random.between(0.05, 1);
  }
}

function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from("E"), length, fields]);
}
