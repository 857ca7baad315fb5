import { StoreUnavailable } from "../../ports/run-store.ts";

/** Where a connection goes, for people: nothing secret. */
export interface Target {
  user: string;
  host: string;
  port: number;
  database: string;
}

/** Faults of the place where the database lies, by SQLSTATE or its class. */
const REASONS: Record<string, string> = {
  "08": "the connection to the database failed",
  "25006": "the database is read-only",
  "25P03": "the database ended a transaction that did nothing for too long",
  "53": "the database server is short of memory or connections",
  "53100": "the database server's disk is full",
  "53300": "the database server takes no more connections",
  "55P03": "a lock in the database was held for too long",
  "57014": "a statement took too long",
  "57P01": "the database server is shutting down",
  "57P02": "the database server crashed",
  "57P03": "the database server is starting up or shutting down",
  "57P04": "the database was dropped",
  "57P05": "the database ended an idle connection",
  "58030": "the database server's disk failed",
};

const SOCKET_CODES = new Set(
  "ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENOTFOUND EAI_AGAIN ENOENT".split(
    " ",
  ),
);
const READ_ONLY = "25006";
/** The driver's own faults have no codes. */
const LOST = /^Connection terminated|is not queryable/;
const TIMED_OUT = /^Query read timeout|^timeout exceeded when trying to connect/;

/** Faults of the place where the database lies become `StoreUnavailable`; anything else is returned as it is. */
export function translatePostgresError(error: unknown): unknown {
  const code = codeOf(error);
  const state = /^[0-9A-Z]{5}$/.test(code) ? (REASONS[code] ?? REASONS[code.slice(0, 2)]) : undefined;
  const reason = state ?? (isConnectionLost(error) || timedOut(error) ? "the database does not answer" : undefined);
  if (reason === undefined) return withoutRows(error);
  return new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause: withoutRows(error) });
}

/** What Postgres tells of the row at fault is somebody's data, and errors are logged. */
function withoutRows(error: unknown): unknown {
  if (error instanceof Error)
    for (const member of ["detail", "where", "internalQuery"]) Reflect.deleteProperty(error, member);
  return error;
}

/** True where the connection itself is gone. What was under way on it may or may not have been done. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return SOCKET_CODES.has(code) || /^(08...|57P0[1245]|25P03)$/.test(code) || LOST.test(messageOf(error));
}

/**
 * True where a connection must not serve anyone again: it is gone, still busy with what nobody waits for, or leads to a server
 * that takes no writes any more.
 */
export function isConnectionSpent(error: unknown): boolean {
  return isConnectionLost(error) || timedOut(error) || codeOf(error) === READ_ONLY;
}

/** A serialisation failure or a deadlock: the transaction was taken back only because of others. */
export function isRetryable(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

/** Why no connection can be had, and what to do about it. */
export function explainConnectError(error: unknown, { user, host, port, database }: Target): unknown {
  const server = `${host}:${port}`;
  const hints: Record<string, string> = {
    "28P01": `the database server at ${server} refused the password of user ${user}. Correct it in the database address`,
    "28000": `the database server at ${server} does not let user ${user} in. Correct the user in the database address, or make it: create role ${user} login password '...'`,
    "3D000": `there is no database ${database} at ${server}. Make it: createdb --host ${host} --port ${port} --owner ${user} ${database}`,
    "42501": `user ${user} may not use database ${database} at ${server}. Make it the owner: alter database ${database} owner to ${user}`,
    ECONNREFUSED: `no database server answers at ${server}. Start it, or correct the database address`,
    ENOTFOUND: `the host ${host} is not known. Correct the database address`,
  };
  const nameless = user === "" ? "the database address names no user: write postgres://USER@HOST/DATABASE" : undefined;
  const hint = nameless ?? hints[codeOf(error)];
  const message = messageOf(error);
  const refused = /^The server does not support SSL|certificate|SASL:|password must be a string/i.test(message);
  const reason =
    hint ?? (refused ? `the database server at ${server} and this client do not agree: ${message}` : undefined);
  if (reason !== undefined) return new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause: error });
  if (message.startsWith("timeout exceeded"))
    return new StoreUnavailable("The store is unavailable: all its database connections are busy.", { cause: error });
  const timeless = timedOut(error) || isConnectionLost(error);
  return timeless && !REASONS[codeOf(error)]
    ? new StoreUnavailable(`The store is unavailable: the database server at ${server} does not answer.`, {
        cause: error,
      })
    : translatePostgresError(error);
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function timedOut(error: unknown): boolean {
  return TIMED_OUT.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
