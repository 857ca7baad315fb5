import { randomUUID } from "node:crypto";
import type { CallFrame, ControlPlaneFrame, FunctionManifest } from "@patchbay/protocol";
import { WebSocket } from "ws";

/** What a runtime may do wrong, with the checks that find it. */
export const FAULTS = {
  "sends a frame before the welcome": ["hello"],
  "has another instanceId on each connection": ["reconnect"],
  "does not ping": ["pings", "silence"],
  "keeps a silent connection": ["silence"],
  "names attempt 1 in every result": ["call"],
  "closes the connection after an unknown frame": ["call"],
  "does not check roles": ["permission"],
  "answers differently for forbidden functions": ["permission"],
  "does not check arguments": ["permission"],
  "sends the text of errors": ["failure"],
  "ends cancelled calls but not their handlers": ["cancel", "running", "detached"],
  "does not end calls in time": ["cancel", "drain"],
  "starts a running call again": ["running", "drain"],
  "runs an ended call again": ["ended"],
  "forgets a call when it is acknowledged": ["ended"],
  "gives results to every role": ["foreign"],
  "runs an attempt that was unseen": ["unseen"],
  "sends each result once": ["results", "drain"],
  "sends acknowledged results again": ["results", "drain"],
  "aborts calls with their connection": ["loss", "detached", "drain"],
  "does not report detached calls": ["detached", "drain"],
  "reports detached calls over one connection": ["detached", "drain"],
  "reads frames of up to 64 KiB": ["limits"],
  "sends results of every size": ["limits"],
  "sends all progress": ["progress"],
  "leaves a connection that goes away": ["going-away", "drain"],
  "accepts calls while it drains": ["drain"],
  "aborts calls when it drains": ["drain"],
  "ends before its results are stored": ["drain"],
} satisfies Record<string, string[]>;

export type Fault = keyof typeof FAULTS;

interface Kept {
  of: string;
  /** Undefined when it was acknowledged. */
  result: object | undefined;
}

const manifestOf = (name: string): FunctionManifest => ({
  name,
  description: "Serves the conformance kit.",
  inputSchema: { type: "object", properties: { key: { type: "string" }, by: { type: "number" } } },
  roles: name === "restricted" ? ["conformance"] : "everyone",
  conditional: false,
  effect: "read",
  idempotent: false,
  timeoutMs: 60_000,
  ...(name === "hold" && { detached: true }),
});

/** A runtime that is only a WebSocket client, for the functions of the kit. Returns how to stop it. */
export function startSmallRuntime({ url, key }: { url: string; key: string }, fault?: Fault): () => void {
  const has = (one: Fault) => one === fault;
  const instanceId = randomUUID();
  const numbers = new Map<string, number>();
  const running = new Map<string, AbortController>();
  const detached = new Set<string>();
  const ended = new Map<string, Kept>();
  const unseen = new Map<string, number>();
  const sockets = new Set<WebSocket>();
  let current: WebSocket;
  let framesPerSecond = 1_000;
  let stops = false;

  const add = (to: string, by: number) => numbers.set(to, (numbers.get(to) ?? 0) + by).get(to)!;
  const send = (frame: object, socket = current) => socket.readyState === 1 && socket.send(JSON.stringify(frame));

  function connect(): void {
    const socket = new WebSocket(`${url.replace("http", "ws")}/functions/connect`, {
      headers: { Authorization: `Bearer ${key}` },
      maxPayload: has("reads frames of up to 64 KiB") ? 65_536 : 1_048_576,
    });
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("open", () => {
      const names = ["count", "hold", "throw", "large", "progress", "restricted"];
      const manifest = { name: "small", preparesContext: false, functions: names.map(manifestOf) };
      const id = has("has another instanceId on each connection") ? randomUUID() : instanceId;
      send({ type: "hello", version: 1, instanceId: id, manifest, concurrency: 10, sdk: "small" }, socket);
      if (has("sends a frame before the welcome")) send({ type: "progress", callId: "none", data: 1 }, socket);
    });
    socket.on("message", (data) => receive(JSON.parse((data as Buffer).toString()) as ControlPlaneFrame, socket));
    socket.on("close", () => {
      sockets.delete(socket);
      if (has("aborts calls with their connection")) for (const abort of running.values()) abort.abort("cancelled");
      const isNeeded = socket === current || current.readyState !== 1;
      if (isNeeded && sockets.size === 0 && !stops) setTimeout(connect, 20);
    });
    current ??= socket;
  }

  function heartbeat(socket: WebSocket, everyMs: number): void {
    let missed = 0;
    socket.on("pong", () => (missed = 0));
    const timer = setInterval(() => {
      if (missed++ >= 2 && !has("keeps a silent connection")) socket.terminate();
      else if (!has("does not ping")) socket.ping();
      else missed = 0;
    }, everyMs);
    socket.on("close", () => clearInterval(timer));
  }

  function receive(frame: ControlPlaneFrame, socket: WebSocket): void {
    if (frame.type === "welcome") {
      current = socket;
      framesPerSecond = frame.framesPerSecond ?? 1_000;
      heartbeat(socket, frame.heartbeatMs);
      if (!has("reports detached calls over one connection")) for (const callId of detached) report(callId);
      for (const { result } of ended.values()) if (result && !has("sends each result once")) send(result);
    } else if (frame.type === "call") call(frame);
    else if (frame.type === "callQuery") answerQuery(frame);
    else if (frame.type === "cancel") running.get(frame.callId)?.abort(frame.reason);
    else if (frame.type === "resultAck") acknowledge(frame.callId);
    else if (frame.type === "goingAway") {
      connect();
      if (has("leaves a connection that goes away")) socket.close();
    } else if (has("closes the connection after an unknown frame")) socket.close();
  }

  function answerKnown(callId: string): boolean {
    const known = ended.get(callId);
    if (!running.has(callId) && !known) return false;
    send({ type: "callState", callId, state: known ? "done" : "running" });
    const unknown = { ok: false, code: "outcome_unknown", message: "The result was acknowledged." };
    if (known) send(known.result ?? { type: "result", callId, attempt: 1, outcome: unknown });
    return true;
  }

  function answerQuery(asked: { callId: string; attempt: number }): void {
    if (!answerKnown(asked.callId)) refuse(asked);
  }

  function report(callId: string): void {
    if (!has("does not report detached calls")) send({ type: "callState", callId, state: "running" });
  }

  function refuse({ callId, attempt }: { callId: string; attempt: number }): void {
    unseen.set(callId, attempt);
    send({ type: "callState", callId, state: "unseen" });
  }

  function call(frame: CallFrame): void {
    const { callId, attempt } = frame;
    const known = ended.get(callId);
    const runsAgain = known ? has("runs an ended call again") : has("starts a running call again");
    if (known && known.of !== ofCall(frame) && !has("gives results to every role"))
      return void send({ type: "result", callId, attempt, outcome: { ok: false, code: "denied", message: "Denied." } });
    if (!runsAgain && answerKnown(callId)) return;
    if (attempt <= (unseen.get(callId) ?? 0) && !has("runs an attempt that was unseen")) return refuse(frame);
    if (stops && !has("accepts calls while it drains")) return refuse(frame);
    void run(frame);
  }

  const ofCall = (frame: CallFrame) => JSON.stringify([frame.function, frame.role]);

  async function run(frame: CallFrame): Promise<void> {
    const { callId } = frame;
    const abort = new AbortController();
    running.set(callId, abort);
    if (frame.detached) {
      detached.add(callId);
      report(callId);
    }
    const late = setTimeout(() => has("does not end calls in time") || abort.abort("timed_out"), frame.timeoutMs);
    const outcome = await outcomeOf(frame, abort.signal);
    clearTimeout(late);
    running.delete(callId);
    detached.delete(callId);
    const attempt = has("names attempt 1 in every result") ? 1 : frame.attempt;
    const result = { type: "result", callId, attempt, outcome };
    ended.set(callId, { of: ofCall(frame), result });
    send(result);
    if (stops && has("ends before its results are stored")) current.close();
  }

  async function outcomeOf(frame: CallFrame, signal: AbortSignal): Promise<object> {
    const failure = (code: string, message = code) => ({ ok: false, code, message });
    const { key: of, by } = frame.arguments as { key: string; by: number };
    const isForbidden = frame.function === "restricted" && frame.role !== "conformance";
    if (isForbidden && !has("does not check roles"))
      return failure(has("answers differently for forbidden functions") ? "denied" : "unknown_function");
    if (typeof by !== "number" && !has("does not check arguments")) return failure("invalid_arguments");
    if (frame.function === "count") return { ok: true, value: add(of, by) };
    if (frame.function === "restricted") return { ok: true, value: true };
    if (frame.function === "throw")
      return failure("function_failed", has("sends the text of errors") ? "secret of the handler" : "It failed.");
    if (frame.function === "large")
      return has("sends results of every size")
        ? { ok: true, value: "x".repeat(300_000) }
        : failure("result_too_large");
    if (frame.function === "progress") {
      const most = has("sends all progress") ? 1_000 : framesPerSecond / 2;
      for (let data = 0; data < most; data++) send({ type: "progress", callId: frame.callId, data });
      return { ok: true, value: null };
    }
    if (frame.function !== "hold") return failure("unknown_function");
    add(of, 1);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (!(signal.reason === "cancelled" && has("ends cancelled calls but not their handlers"))) add(of, 10);
    return failure(signal.reason as string);
  }

  function acknowledge(callId: string): void {
    const known = ended.get(callId);
    if (known && !has("sends acknowledged results again")) known.result = undefined;
    if (has("forgets a call when it is acknowledged")) ended.delete(callId);
    endIfDrained();
  }

  function endIfDrained(): void {
    const isKept = ended.values().some(({ result }) => result);
    if (stops && running.size === 0 && !isKept) for (const socket of sockets) socket.close();
  }

  connect();
  return () => {
    if (stops) for (const socket of sockets) socket.terminate();
    stops = true;
    for (const socket of sockets) send({ type: "draining" }, socket);
    if (has("aborts calls when it drains")) for (const abort of running.values()) abort.abort("cancelled");
    endIfDrained();
  };
}
