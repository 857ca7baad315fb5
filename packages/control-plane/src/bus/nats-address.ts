/** One NATS server and how to come in. */
export interface NatsAddress {
  host: string;
  port: number;
  /** Never without TLS; otherwise TLS where the server has it. */
  tls: boolean;
  login: { user: string; pass: string } | { token: string } | undefined;
}

const DEFAULT_PORT = 4222;

/**
 * Reads `nats://HOST:PORT` or `tls://HOST:PORT`, several separated by commas, each with its own `USER:PASSWORD@` or `TOKEN@`.
 * Throws TypeError; its message repeats nothing of a login.
 */
export function parseNatsAddresses(text: string): NatsAddress[] {
  return text.split(",").map((part) => parse(part.trim()));
}

/** The address as a log may show it: without its login. */
export function shown({ host, port }: NatsAddress): string {
  return `${host}:${port}`;
}

function parse(part: string): NatsAddress {
  const text = part.includes("://") ? part : `nats://${part}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const user = decoded(url?.username);
  const pass = decoded(url?.password);
  const fits = url && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname);
  if (!fits || user === undefined || pass === undefined) {
    const named = url ? `${url.protocol}//${url.host}${url.pathname}` : "what was given";
    throw new TypeError(
      `A NATS address is nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before the host, several separated by commas; ${named} is none. Percent-encode "@", ":", "/", "%" and "," in a password.`,
    );
  }
  const login = pass === "" ? { token: user } : { user, pass };
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    tls: url.protocol === "tls:",
    login: user === "" ? undefined : login,
  };
}

/** Undefined where "%" stands for itself. */
function decoded(text = ""): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
