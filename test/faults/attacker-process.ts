import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject, JsonValue } from "@patchbay/kit";
import { WebSocket } from "ws";
import { HOSTILE, largest } from "../../packages/access/test/hostile-schemas.ts";
import { queryOf, type Plan } from "./plan.ts";

/**
 * An attack by a tenant with valid credentials, in a separate process, so that sending does not slow down the client that
 * measures another tenant. Prints `{"ready":…}` when the attack has started, and exits by itself.
 */
const {
  ATTACK = "",
  BASE = "",
  AGENT = "",
  API_KEY = "",
  PINNED_KEY = "",
  RUNTIME_KEY = "",
  COOKIE = "",
} = process.env;
const seconds = Number(process.env["SECONDS"]);
const endsAt = performance.now() + seconds * 1_000;
const going = (): boolean => performance.now() < endsAt;
const counts: Record<string, number> = {};
const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: JsonValue;
}

/** Resolves with the status once the response is read; 0 without a response. */
function call({ method = "GET", path, headers = {}, body }: Asked): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${BASE}${path}`, { method, agent, headers: { ...JSON_TYPE, ...headers } }, (response) => {
      response.resume();
      response.on("close", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  }).then((status) => {
    count(`status ${String(status)}`);
    return status as number;
  });
}

const JSON_TYPE = { "content-type": "application/json" };

function ask(plan: Plan): Promise<number> {
  const path = `/agents/${AGENT}/query`;
  return call({ method: "POST", path, headers: { "x-api-key": API_KEY }, body: { query: queryOf(plan) } });
}

const oneFunction = (name: string, roles: JsonValue = "everyone"): JsonObject => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: { id: { type: "string" } } },
  roles,
  conditional: false,
  effect: "write",
  idempotent: false,
  timeoutMs: 60_000,
});

let instances = 0;

/** A runtime connection for arbitrary frames. Resolves after the welcome frame, or with undefined if it is rejected. */
function connect(
  options: { functions?: JsonObject[]; roles?: string[]; onCall?: (callId: string) => JsonValue } = {},
): Promise<WebSocket | undefined> {
  const { functions = [oneFunction("charge")], roles = [], onCall } = options;
  const socket = new WebSocket(`${BASE.replace("http", "ws")}/functions/connect`, {
    headers: { authorization: `Bearer ${RUNTIME_KEY}` },
  });
  const manifest = { name: "worst", roles, preparesContext: false, functions };
  const instanceId = `attacker-${process.pid}-${++instances}`;
  socket.on("open", () =>
    socket.send(
      JSON.stringify({ type: "hello", version: 1, instanceId, manifest, concurrency: 10_000, sdk: "worst/1" }),
    ),
  );
  socket.on("error", () => count("refused connections"));
  return new Promise((resolve) => {
    socket.on("close", () => resolve(undefined));
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type: string; callId: string; attempt: number };
      if (frame.type === "welcome") {
        count("connections");
        resolve(socket);
      } else if (frame.type === "call" && onCall) {
        count("calls");
        const outcome = { ok: true, value: onCall(frame.callId) };
        socket.send(JSON.stringify({ type: "result", callId: frame.callId, attempt: frame.attempt, outcome }));
      }
    });
  });
}

/** A request of a member of the organisation. */
function askConsole(method: string, path: string, body?: JsonValue): Promise<number> {
  const origin = BASE.replace("127.0.0.1", "localhost");
  const headers = { cookie: COOKIE, host: new URL(origin).host, origin };
  return call({ method, path: `/api/agents/${AGENT}${path}`, headers, ...(body !== undefined && { body }) });
}

/**
 * The expensive schemas, each in two versions that a comparison finds to differ. Built before the attack, which must not use the
 * processor of the machine that measures.
 */
const hostileSchemas: JsonObject[][] = ATTACK.startsWith("schemas")
  ? Object.values(HOSTILE).map((family) => [1, 2].map((change) => largest(family, change, 60_000)))
  : [];
const hostileSchema = (round: number): JsonObject => hostileSchemas[(round >> 1) % hostileSchemas.length]![round % 2]!;

/** Repeats `work` in this number of workers until the time is up. */
async function repeat(workers: number, work: (round: number) => Promise<unknown>): Promise<void> {
  let round = 0;
  const worker = async (): Promise<void> => {
    while (going()) await work(round++);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Sends frames as fast as the socket accepts them, over a new connection whenever one is closed. */
async function flood(frame: (sent: number) => string): Promise<void> {
  for (let sent = 0; going();) {
    const socket = await connect();
    if (!socket) {
      await sleep(100);
      continue;
    }
    const open = (): boolean => going() && socket.readyState === WebSocket.OPEN;
    while (open()) {
      for (let i = 0; i < 1_000; i++) socket.send(frame(sent++));
      counts["frames"] = sent;
      do await sleep(1);
      while (socket.bufferedAmount > 1_000_000 && open());
    }
  }
}

const each = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

const large = "x".repeat(250_000);
const bigPlan = (round: number): Plan => ({
  id: `worst.big.${round}`,
  turns: [0, 1, 2].map((turn) =>
    Array.from({ length: 300 }, (_, at) => ({ name: "charge" as const, id: `${round}.${turn}.${at}` })),
  ),
});

const ATTACKS: Record<string, () => Promise<unknown>> = {
  async results() {
    await connect({ onCall: () => large });
    await repeat(4, (round) => ask(bigPlan(round)));
  },
  async queries() {
    await connect({ onCall: () => "done" });
    const plan = (at: number): Plan => ({
      id: `worst.many.${at}`,
      turns: [[{ name: "charge", id: `many.${at}` }]],
      thinkMs: 20,
    });
    await Promise.all(Array.from({ length: 2_000 }, (_, at) => ask(plan(at))));
  },
  frames: () => flood(() => '{"type":"draining"}'),
  answers: () =>
    flood((sent) => `{"type":"result","callId":"call_${sent}","attempt":1,"outcome":{"ok":true,"value":1}}`),
  hellos: () =>
    repeat(8, async (round) => {
      const functions = Array.from({ length: 100 }, (_, at) => ({
        ...oneFunction(`f${at}`),
        description: `${round}.${at} ${"x".repeat(4_000)}`,
      }));
      (await connect({ functions }))?.terminate();
    }),
  async connections() {
    await Promise.all(Array.from({ length: 500 }, () => connect()));
    while (going()) await sleep(100);
  },
  async streams() {
    // The only call gets no answer, so that the streams stay open.
    await connect();
    void ask({ id: "worst.open", turns: [[{ name: "charge", id: "open" }]] });
    const path = `/agents/${AGENT}/query-stream`;
    const query = queryOf({ id: "worst.stream", turns: [[{ name: "charge", id: "stream" }]] });
    const open = (): Promise<number> =>
      call({ method: "POST", path, headers: { "x-api-key": API_KEY }, body: { query } });
    void Promise.all(Array.from({ length: 1_500 }, open));
    while (going()) await sleep(100);
  },
  lists: () =>
    repeat(12, () => call({ path: `/agents/${AGENT}/threads?limit=100`, headers: { "x-api-key": PINNED_KEY } })),
  async matrix() {
    const roles = Array.from({ length: 200 }, (_, at) => `role-${at}`);
    const functions = Array.from({ length: 200 }, (_, at) =>
      oneFunction(`f${at}`, roles.slice(at % 100, (at % 100) + 100)),
    );
    await connect({ functions, roles });
    await repeat(4, () => askConsole("GET", "/access"));
  },
  "schemas-in-hellos": () =>
    repeat(2, async (round) => {
      const schema = hostileSchema(round);
      const functions = each(3, (at) => ({ ...oneFunction(`f${at}`), inputSchema: schema, outputSchema: schema }));
      const socket = await connect({ functions });
      if (socket) await askConsole("GET", "/access/changes");
      else await sleep(300);
      socket?.terminate();
    }),
  async "schemas-in-locks"() {
    const setOf = (schema: JsonObject) =>
      each(3, (at) => ({ ...oneFunction(`f${at}`), inputSchema: schema, outputSchema: schema }));
    await repeat(1, async (round) => {
      const socket = await connect({ functions: setOf(hostileSchema(2 * round)) });
      const input = hostileSchema(2 * round + 1);
      const locked = { roles: { none: "allowed" }, input, output: input };
      const lock = { version: 2, functions: Object.fromEntries(each(3, (at) => [`f${at}`, locked])) };
      await Promise.all(each(4, () => askConsole("POST", "/access/lock-changes", { lock })));
      socket?.terminate();
      if (!socket) await sleep(300);
    });
  },
};

/** Loads and compiles what an attack with schemas uses: the first comparison of a process takes several times as long. */
async function warmUp(): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const member = { type: "object", properties: { id: { type: "string", maxLength: 1 + round } } };
    const input = { type: "object", properties: Object.fromEntries(each(100, (at) => [`p${at}`, member])) };
    const functions = each(20, (at) => ({ ...oneFunction(`f${at}`), inputSchema: input, outputSchema: input }));
    const socket = await connect({ functions });
    await askConsole("GET", "/access/changes");
    const locked = { roles: { none: "allowed" }, input: member, output: member };
    const lock = { version: 2, functions: Object.fromEntries(each(20, (at) => [`f${at}`, locked])) };
    await askConsole("POST", "/access/lock-changes", { lock });
    socket?.terminate();
  }
}

if (ATTACK.startsWith("schemas")) await warmUp();
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
await Promise.race([ATTACKS[ATTACK]!(), sleep(seconds * 1_000)]);
process.stderr.write(`${ATTACK}: ${JSON.stringify(counts)}\n`);
process.exit(0);
