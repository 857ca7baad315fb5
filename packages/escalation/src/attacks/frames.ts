import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type CallFrame, type ControlPlaneFrame, type RuntimeFrame } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { WebSocketServer, type WebSocket } from "ws";
import { silentLog } from "@patchbay/runtime/log";
import { connect } from "@patchbay/runtime/connection/connect";
import type { Service } from "@patchbay/runtime/service";
import type { Fixture } from "../fixture.ts";
import { judgeCalls, judgePlaces, type AttackCase } from "../judge.ts";
import type { Target } from "../targets.ts";
import { forbiddenFor, higherRoles, INHERITED_NAMES, spellingsOf, withClaims, type Attack } from "./attack.ts";

/** Calls from a hostile control plane, which only the runtime can refuse. */
const frames: Attack = {
  name: "frames at the runtime",
  risks: ["ASI07"],
  async run(fixture, role, label) {
    await using plane = await startHostilePlane(fixture.served);
    const attackCase = fixture.openCase(label);
    const { permitted } = fixture.targets(role);
    const higher = higherRoles(fixture, role).map(({ stated }) => stated!);
    const forbidden = forbiddenFor(fixture, role);
    const byName = new Map([...forbidden, ...permitted].map((target) => [target.functionName, target]));
    const calls: Target[] = [
      ...permitted,
      ...forbidden,
      ...forbidden.flatMap((target) => claimed(target, higher)),
      ...[...byName.values()].flatMap((target) => spelled(fixture, target)),
      ...INHERITED_NAMES.map((functionName) => ({ functionName, input: {}, context: fixture.context })),
    ];
    const results = await Promise.all(
      calls.map((call, i) => plane.call(frameOf(attackCase, call, `${attackCase.sessionId}-${i}`))),
    );
    fixture.count(attackCase, calls.length);
    await judgeCalls(fixture, attackCase, { behindControlPlane: false });
    judgePlaces(fixture, attackCase, { results });
  },
};

/** Calls by other roles, delivered again with this role: before and after their results are acknowledged. */
const redelivery: Attack = {
  name: "redelivery as another role",
  risks: ["ASI03", "ASI07"],
  async run(fixture, role, label) {
    await using plane = await startHostilePlane(fixture.served);
    const attackCase = fixture.openCase(label);
    for (const other of fixture.roles) {
      if (other.effective === role.effective) continue;
      const first = fixture.openCase({ ...label, role: other });
      for (const [i, call] of fixture.targets(other).permitted.slice(0, 5).entries()) {
        const callId = `${first.sessionId}-${attackCase.sessionId}-${i}`;
        await plane.call(frameOf(first, call, callId));
        const again = frameOf(attackCase, call, callId);
        const before = await plane.call({ ...again, attempt: 2 });
        plane.acknowledge(callId);
        const after = await plane.call({ ...again, attempt: 3 });
        judgePlaces(fixture, attackCase, { results: [before, after] });
        fixture.count(attackCase, 2);
      }
    }
    await judgeCalls(fixture, attackCase, { behindControlPlane: false });
  },
};

export type SentCall = Omit<CallFrame, "type" | "timeoutMs">;

export function frameOf(attackCase: AttackCase, { functionName, input, context }: Target, callId: string): SentCall {
  const { sessionId, effective } = attackCase;
  return {
    callId,
    attempt: 1,
    function: functionName,
    arguments: input,
    context,
    threadId: "thread",
    runId: "run",
    sessionId,
    ...present({ role: effective }),
  };
}

/** The call, with two other roles claimed. Code that believes one claim believes any. */
function claimed(target: Target, higher: readonly string[]): Target[] {
  return higher.slice(0, 2).flatMap((role) => [
    { ...target, input: withClaims(target.input, role) },
    { ...target, context: withClaims(target.context, role) },
  ]);
}

function spelled({ service }: Fixture, target: Target): Target[] {
  const known = new Set(service.manifest.functions.map(({ name }) => name));
  const names = spellingsOf(target.functionName).filter((name) => !known.has(name));
  return names.map((functionName) => ({ ...target, functionName }));
}

export const frameAttacks: Attack[] = [frames, redelivery];

type ResultFrame = Extract<RuntimeFrame, { type: "result" }>;

/** A control plane that sends a runtime any call. */
interface HostilePlane extends AsyncDisposable {
  /** Sends a call and resolves with its result. */
  call(frame: SentCall): Promise<ResultFrame>;
  acknowledge(callId: string): void;
}

/** All calls of a role, a thousand and more, are sent at once. */
const RESULT_TIMEOUT_MS = 60_000;

/** Connects the service to a hostile control plane through the real runtime. */
export async function startHostilePlane(service: Service): Promise<HostilePlane> {
  const waiting = new Map<string, (frame: ResultFrame) => void>();
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connected = once(server, "connection") as Promise<[WebSocket]>;
  const connection = connect(service, {
    url: `ws://127.0.0.1:${port}`,
    key: "hostile",
    concurrency: 256,
    proxy: false,
    log: silentLog,
  });
  const [socket] = await connected;
  const send = (frame: ControlPlaneFrame) => socket.send(JSON.stringify(frame));
  socket.on("message", (data) => {
    const frame = JSON.parse((data as Buffer).toString()) as RuntimeFrame;
    if (frame.type === "hello")
      send({ type: "welcome", connectionId: "hostile", agentId: "hostile", heartbeatMs: 60_000 });
    if (frame.type === "result") waiting.get(frame.callId)?.(frame);
  });
  await connection.ready;

  return {
    call(frame) {
      const { promise, resolve, reject } = Promise.withResolvers<ResultFrame>();
      const { callId } = frame;
      const timer = setTimeout(() => reject(new Error(`The runtime sent no result of ${callId}.`)), RESULT_TIMEOUT_MS);
      waiting.set(callId, resolve);
      send({ type: "call", timeoutMs: RESULT_TIMEOUT_MS, ...frame });
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(callId);
      });
    },
    acknowledge: (callId) => send({ type: "resultAck", callId }),
    async [Symbol.asyncDispose]() {
      await connection.stop({ drainMs: 0 });
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, "close");
    },
  };
}
