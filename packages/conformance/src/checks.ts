import { FRAMES_VERSION, LIMITS } from "@patchbay/protocol";
import type { Session } from "./session.ts";

/** The tested runtime's key, the role that may call `restricted`, and the text that `throw` throws. */
export const KEY = "conformance-key";
const ROLE = "conformance";
const SECRET = "secret of the handler";

/** What the functions do that the runtime under test serves. Each has the input `{ key: string; by: number }`. */
export const FUNCTIONS: Readonly<Record<string, string>> = {
  count: "Adds `by` to the number of `key`, which is 0 when the process starts, and returns the sum.",
  hold: "Adds 1 to the number of `key`, waits until its call is cancelled or times out, and then adds 10. Is `detached` in a manifest that has such functions.",
  throw: `Throws an error with the message \`${SECRET}\`.`,
  large: "Returns a string of 300,000 characters.",
  progress: "Reports progress 1,000 times without a pause, and returns `null`.",
  restricted: `Returns \`true\`. Has the role \`${ROLE}\`; everyone may call the other functions.`,
};

/** A wire rule, and how the kit finds out whether a runtime keeps it. */
export interface Check {
  rule: string;
  /** What the kit does, and what it reads. */
  does: string;
  /** What it reads from a runtime that keeps the rule, in order: call states, results, error codes, and key numbers. */
  expects: readonly unknown[];
  run: (session: Session) => Promise<readonly unknown[]>;
}

const DETACHED = ["running", "running", "cancelled", 11];

/** The checks by name, in the order in which they run. The last one stops the runtime. */
export const CHECKS: Readonly<Record<string, Check>> = {
  hello: {
    rule: "A runtime connects with its key and without `Origin`, and sends nothing before `welcome` except `hello`.",
    does: "Reads path, key and origin of the request, the version, the functions that the manifest lacks, whether `concurrency` is at least 2, and further frames.",
    expects: ["/functions/connect", `Bearer ${KEY}`, null, FRAMES_VERSION, [], true, []],
    async run({ request: { url, headers }, hello: { version, manifest, concurrency }, early }) {
      const lacking = Object.keys(FUNCTIONS).filter((name) => !manifest.functions.some((one) => one.name === name));
      return [url, headers.authorization, headers.origin ?? null, version, lacking, concurrency >= 2, early];
    },
  },
  reconnect: {
    rule: "A runtime whose connection ends opens another one, also after a refusal, with the same `instanceId`.",
    does: "Ends the connection, answers the next request with 503, and compares the next `hello`.",
    expects: ["equal"],
    async run(session) {
      const { instanceId } = session.hello;
      session.refuses = true;
      session.socket.terminate();
      await session.take(session.refused, "request").finally(() => (session.refuses = false));
      await session.reconnect();
      return [session.hello.instanceId === instanceId ? "equal" : "different"];
    },
  },
  pings: {
    rule: "A runtime pings every `heartbeatMs`, and answers pings.",
    does: "Sends `welcome` with a `heartbeatMs` of 100, waits for two pings, and pings.",
    expects: ["ping", "ping", "pong"],
    async run(session) {
      await session.reconnect({ heartbeatMs: 100 });
      return [await session.event("ping"), await session.event("ping"), await session.event("pong")];
    },
  },
  silence: {
    rule: "A runtime replaces a connection over which two pings are not answered.",
    does: "Sends `welcome` with a `heartbeatMs` of 100, reads and sends nothing more, and waits for another connection.",
    expects: ["connected"],
    async run(session) {
      await session.reconnect({ heartbeatMs: 100 });
      const { socket } = session;
      socket.pause();
      await session.connect().finally(() => socket.terminate());
      return ["connected"];
    },
  },
  call: {
    rule: "A result has the `callId` and the `attempt` of its call. Unknown frames and members are ignored.",
    does: "Sends a frame of the type `new`, and attempt 3 of a call of `count` with a member `new`. Reads attempt and value.",
    expects: [3, 1],
    async run(session) {
      session.tell({ type: "new" });
      const callId = session.send("count", Object.assign({ attempt: 3 }, { new: true }));
      const { attempt, outcome } = await session.answer(callId);
      return [attempt, outcome.ok && outcome.value];
    },
  },
  permission: {
    rule: "A runtime checks roles and arguments itself. A forbidden function does not exist.",
    does: `Calls \`missing\`, \`restricted\` without a role and as \`${ROLE}\`, and \`count\` without arguments.`,
    expects: ["unknown_function", "unknown_function", true, "invalid_arguments"],
    run: async (session) => [
      await session.call("missing"),
      await session.call("restricted"),
      await session.call("restricted", { role: ROLE }),
      await session.call("count", { arguments: {} }),
    ],
  },
  failure: {
    rule: "The text of an error that a handler throws stays in the runtime.",
    does: "Calls `throw`, and searches the result for the text.",
    expects: ["function_failed", "absent"],
    async run(session) {
      const { outcome } = await session.answer(session.send("throw"));
      return [!outcome.ok && outcome.code, JSON.stringify(outcome).includes(SECRET) ? "present" : "absent"];
    },
  },
  cancel: {
    rule: "`cancel`, and the end of `timeoutMs`, abort the handler.",
    does: "Cancels an unknown call and a running `hold`. Calls `hold` with a `timeoutMs` of 50. Reads both numbers.",
    expects: ["cancelled", 11, "timed_out", 11],
    async run(session) {
      session.cancel(session.newId());
      const held = await session.hold();
      session.cancel(held);
      const seen = [await session.result(held), await session.number(held, 11)];
      const late = session.send("hold", { timeoutMs: 50 });
      return [...seen, await session.result(late), await session.number(late, 11)];
    },
  },
  running: {
    rule: "A call that runs is not started again.",
    does: "Sends the call of a running `hold` again, and a `callQuery`. Cancels it, and reads its number.",
    expects: ["running", "running", "cancelled", 11],
    async run(session) {
      const held = await session.hold();
      session.send("hold", { callId: held, attempt: 2 });
      const seen = [await session.state(held), await session.ask(held, 2)];
      session.cancel(held);
      return [...seen, await session.result(held), await session.number(held, 11)];
    },
  },
  ended: {
    rule: "A call that has ended is answered with its result until `resultAck`, and never runs again.",
    does: "Sends an ended call of `count` again, then a `callQuery`. Acknowledges it, sends it once more, and reads its number after the answer.",
    expects: [1, "done", 1, "done", 1, 1],
    async run(session) {
      const callId = session.send("count");
      const seen = [await session.result(callId, "keep")];
      session.send("count", { callId, attempt: 2 });
      seen.push(await session.state(callId), await session.result(callId, "keep"));
      seen.push(await session.ask(callId, 2), await session.result(callId));
      await session.call("count", { callId, attempt: 3 });
      return [...seen, await session.number(callId)];
    },
  },
  foreign: {
    rule: "A result is only for the function and the role of its call.",
    does: `Calls \`restricted\` as \`${ROLE}\`, and sends the \`callId\` again without a role.`,
    expects: [true, "denied"],
    async run(session) {
      const callId = session.send("restricted", { role: ROLE });
      const first = await session.result(callId, "keep");
      return [first, await session.call("restricted", { callId, attempt: 2 })];
    },
  },
  unseen: {
    rule: "After `unseen`, this attempt does not run.",
    does: "Sends `callQuery` for attempt 2 of an unknown call of `count`, then attempts 2 and 3.",
    expects: ["unseen", "unseen", 1],
    async run(session) {
      const callId = session.newId();
      const seen = [await session.ask(callId, 2)];
      session.send("count", { callId, attempt: 2 });
      return [...seen, await session.state(callId), await session.call("count", { callId, attempt: 3 })];
    },
  },
  results: {
    rule: "A result is sent again over the next connection unless it was acknowledged.",
    does: "Reads two results, acknowledges the second, and ends the connection. Reads the first again, and counts further ones of the second.",
    expects: [1, 1, 1, 0],
    async run(session) {
      const [kept, stored] = [session.send("count"), session.send("count")];
      const seen = [await session.result(kept, "keep"), await session.result(stored)];
      await session.event("pong");
      await session.reconnect();
      return [...seen, await session.result(kept), await session.count("result", stored)];
    },
  },
  loss: {
    rule: "A call continues while its connection is lost.",
    does: "Ends the connection during a call of `hold`. Asks for its state and reads its number over the next one, and cancels it.",
    expects: ["running", 1, "cancelled"],
    async run(session) {
      const held = await session.hold();
      await session.reconnect();
      const seen = [await session.ask(held), await session.number(held)];
      session.cancel(held);
      return [...seen, await session.result(held)];
    },
  },
  detached: {
    rule: "The handler of a detached call is reported when it begins, and again over the next connection.",
    does: "Calls `hold` with `detached`, reads the state, ends the connection, and reads the state again. Cancels the call, and reads its number. Runtimes whose `hold` is not `detached` receive no such call, and pass.",
    expects: DETACHED,
    async run(session) {
      if (!session.hello.manifest.functions.some(({ name, detached }) => name === "hold" && detached)) return DETACHED;
      const held = await session.hold({ detached: true });
      const seen = [await session.state(held)];
      await session.reconnect();
      seen.push(await session.state(held));
      session.cancel(held);
      return [...seen, await session.result(held), await session.number(held, 11)];
    },
  },
  limits: {
    rule: `A frame has up to ${LIMITS.frameBytes / 1_024} KiB, and a result up to ${LIMITS.resultBytes / 1_024} KiB.`,
    does: "Calls `count` in a frame that is 1 KiB smaller, and calls `large`.",
    expects: [1, "result_too_large"],
    async run(session) {
      const context = { pad: "x".repeat(LIMITS.frameBytes - 1_024) };
      return [await session.call("count", { context }), await session.call("large")];
    },
  },
  progress: {
    rule: "A runtime drops progress beyond `framesPerSecond`.",
    does: "Sends `welcome` with a `framesPerSecond` of 10, calls `progress`, and counts the reports beyond ten and ten for each second.",
    expects: [null, 0],
    async run(session) {
      await session.reconnect({ framesPerSecond: 10 });
      const startedAt = performance.now();
      const callId = session.send("progress");
      const result = await session.result(callId);
      const most = 10 + Math.ceil((performance.now() - startedAt) / 100);
      return [result, Math.max(0, (await session.count("progress", callId)) - most)];
    },
  },
  "going-away": {
    rule: "After `goingAway`, a runtime opens another connection, and serves both.",
    does: "Sends `goingAway` during a call of `hold` and accepts another connection. Pings over the first, and cancels the call over the other.",
    expects: ["pong", "cancelled"],
    async run(session) {
      const held = await session.hold();
      const { socket } = session;
      session.tell({ type: "goingAway" });
      await session.connect();
      const seen = [await session.event("pong", socket)];
      session.cancel(held);
      return [...seen, await session.result(held).finally(() => socket.terminate())];
    },
  },
  drain: {
    rule: "A runtime that stops refuses further calls, finishes its own, and ends when their results are stored.",
    does: "Stops the runtime during a call of `hold`. Waits for `draining`, calls `count`, cancels the first call, sends `callQuery` for it, and acknowledges it.",
    expects: ["draining", "unseen", 0, "cancelled", "done", "cancelled", "close"],
    async run(session) {
      const held = await session.hold();
      void session.stop();
      const { type } = await session.next("draining");
      const seen = [type, await session.state(session.send("count")), await session.count("result", held)];
      session.cancel(held);
      const first = await session.result(held, "keep");
      const closed = session.event("close");
      return [...seen, first, await session.ask(held), await session.result(held), await closed];
    },
  },
};
