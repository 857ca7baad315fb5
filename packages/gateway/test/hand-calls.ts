import { dialGateway, type FakeRuntime } from "@patchbay/test-support/fake-runtime";

/** The delivery of a call that `answer` answers. */
export const done = { kind: "outcome", outcome: { ok: true, value: "done" } };

export function answer(runtime: FakeRuntime, callId: string, value: unknown = "done"): void {
  runtime.send({ type: "result", callId, attempt: 1, outcome: { ok: true, value } });
}

/** Sends a hello that the gateway refuses, and returns how it closed the connection. */
export async function refusedHello(port: number, hello: object): Promise<{ code: number; reason: string }> {
  const runtime = dialGateway(port);
  runtime.socket.once("open", () => runtime.send(hello));
  return runtime.closed;
}
