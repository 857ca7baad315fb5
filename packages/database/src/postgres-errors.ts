import { isOutOfFiles, OUT_OF_FILES } from "@patchbay/engine/ports/open-files";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";

/** Where a connection leads, for messages. Contains no secret. */
export interface Target {
  user: string;
  host: string;
  port: number;
  database: string;
}

/** Server and connection faults, by SQLSTATE or its class. */
const REASONS: Record<string, string> = {
  "08": "the connection to the database failed",
  "25006": "the database is read-only",
  "25P03": "the database ended an idle transaction",
  "53": "the database server is short of memory or connections",
  "53100": "the database server's disk is full",
  "53300": "the database server has reached its limit of connections",
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
/** The driver's own errors have no codes. */
const LOST = /^Connection terminated|is not queryable/;
const TIMED_OUT = /^Query read timeout|^timeout exceeded when trying to connect/;

/** Turns server and connection faults into `StoreUnavailable`. Returns all other errors without row data. */
export function translatePostgresError(error: unknown): unknown {
  const code = codeOf(error);
  const state = /^[0-9A-Z]{5}$/.test(code) ? (REASONS[code] ?? REASONS[code.slice(0, 2)]) : undefined;
  const lost = isConnectionLost(error) || timedOut(error) ? "the database does not answer" : undefined;
  const reason = state ?? (isOutOfFiles(error) ? OUT_OF_FILES : lost);
  return reason === undefined ? withoutRows(error) : unavailable(reason, withoutRows(error));
}

const unavailable = (reason: string, cause: unknown): StoreUnavailable =>
  new StoreUnavailable(`The store is unavailable: ${reason}.`, { cause });

/** Removes the row that Postgres quotes in an error: it is user data, and errors are logged. */
function withoutRows(error: unknown): unknown {
  if (error instanceof Error)
    for (const member of ["detail", "where", "internalQuery"]) Reflect.deleteProperty(error, member);
  return error;
}

/** True when the connection is lost. Its last statement may or may not have been executed. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return SOCKET_CODES.has(code) || /^(08...|57P0[1245]|25P03)$/.test(code) || LOST.test(messageOf(error));
}

/**
 * True when a connection must not return to the pool: it is lost, still executes a statement that timed out, or leads
 * to a server that became read-only, as after a failover.
 */
export function isConnectionSpent(error: unknown): boolean {
  return isConnectionLost(error) || timedOut(error) || codeOf(error) === READ_ONLY;
}

/** True for a serialisation failure, a deadlock or a stale statement, after which the transaction can be repeated. */
export function isRetryable(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error)) || isStale(error);
}

/** Foreign key, unique value, check: another transaction has stored or deleted the row since. */
const CONFLICTS = new Set(["23503", "23505", "23514"]);

/** True for rows that conflict with what other transactions have stored, so that no statement is at fault. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(codeOf(error)) || isRetryable(error);
}

/** True for a deadlock, or a lock not free in time: others use the table, and the transaction can be repeated. */
export function isBlocked(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : error;
  return ["40P01", "55P03"].includes(codeOf(cause));
}

/**
 * True when a prepared statement was not executed because the server no longer has it, or because a newer Patchbay
 * version has since added a column to its result.
 */
export function isStale(error: unknown): boolean {
  const code = codeOf(error);
  return code === "26000" || (code === "0A000" && messageOf(error).startsWith("cached plan"));
}

/** Explains why connecting failed, with a remedy. */
export function explainConnectError(error: unknown, { user, host, port, database }: Target): unknown {
  const server = `${host}:${port}`;
  const hints: Record<string, string> = {
    "28P01": `the database server at ${server} refused the password of user ${user}. Correct it in the database address`,
    "28000": `the database server at ${server} does not let user ${user} in. Correct the user in the database address, or create it: create role ${user} login password '...'`,
    "3D000": `there is no database ${database} at ${server}. Create it: createdb --host ${host} --port ${port} --owner ${user} ${database}`,
    "42501": `user ${user} may not use database ${database} at ${server}. Make it the owner: alter database ${database} owner to ${user}`,
    ECONNREFUSED: `no database server answers at ${server}. Start it, or correct the database address`,
    ENOTFOUND: `the host ${host} is not known. Correct the database address`,
  };
  const nameless = user === "" ? "the database address has no user: write postgres://USER@HOST/DATABASE" : undefined;
  const hint = nameless ?? hints[codeOf(error)];
  const message = messageOf(error);
  const refused = /^The server does not support SSL|certificate|SASL:|password must be a string/i.test(message);
  const reason =
    hint ?? (refused ? `the database server at ${server} and this client are incompatible: ${message}` : undefined);
  if (reason !== undefined) return unavailable(reason, error);
  if (message.startsWith("timeout exceeded")) return unavailable("all its database connections are busy", error);
  const lost = !isOutOfFiles(error) && !REASONS[codeOf(error)] && (timedOut(error) || isConnectionLost(error));
  return lost ? unavailable(`the database server at ${server} does not answer`, error) : translatePostgresError(error);
}

/** An error's SQLSTATE or socket code; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function timedOut(error: unknown): boolean {
  return TIMED_OUT.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
