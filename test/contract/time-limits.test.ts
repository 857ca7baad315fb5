import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem } from "./contract-system.ts";

const waiting: Script = ({ step, query }) =>
  step === 0 ? { calls: [{ name: "wait", arguments: { id: query } }] } : { text: "Waited." };
const leaving = { "x-on-disconnect": "cancel" };

describe.concurrent("time limits of seconds", () => {
  test("X-On-Disconnect: cancel ends the run 5 s after the last reader of its stream disconnects", async () => {
    await using system = await startContractSystem(waiting);
    const first = openStream(await system.post(system.path("query-stream"), { query: "a" }, leaving));
    await first.until(typed("toolCall"));
    await first.leave();

    await system.desk.stopped("a");

    const rest = await system.get(`/agents/${system.agentId}/runs/${first.runId}/events`, { "last-event-id": "1" });
    expect(await rest.text()).toContain('"code":"cancelled"');
  });

  test("X-On-Disconnect: cancel ends the run 5 s after the client of endpoint 1 disconnects", async () => {
    await using system = await startContractSystem(waiting);
    const abort = new AbortController();
    const asked = fetch(system.url + system.path(), {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": system.apiKey, ...leaving },
      body: JSON.stringify({ query: "a" }),
      signal: abort.signal,
    });
    await system.desk.begun("a");
    abort.abort();
    await expect(asked).rejects.toThrow();

    await system.desk.stopped("a");
  });

  test("X-On-Disconnect: cancel does not end the run if a reader returns in time", async () => {
    await using system = await startContractSystem(waiting);
    const open = async (query: string) => {
      const stream = openStream(await system.post(system.path("query-stream"), { query }, leaving));
      await stream.until(typed("toolCall"));
      return stream;
    };
    const [kept, lost] = [await open("kept"), await open("lost")];
    await kept.leave();
    const back = openStream(await system.get(`/agents/${system.agentId}/runs/${kept.runId}/events`));
    await lost.leave();

    await system.desk.stopped("lost"); // by then the 5 s of the other run have also passed

    system.desk.release("kept");
    expect((await back.until(typed("finalResponse"))).data).toMatchObject({ response: "Waited." });
  });
  test.each([
    ["an event", { includeDeltas: true }, 'data: {"type":"modelStatus","state":"silent","attempt":1}'],
    ["a keepalive", {}, ": keepalive"],
  ])("a stream has %s when the model is silent for 10 s", async (_, body, line) => {
    const seen = Promise.withResolvers<void>();
    await using system = await startContractSystem(() => seen.promise.then(() => ({ text: "At last." })));
    const response = await system.post(system.path("query-stream"), { query: "a", ...body });
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes(line)) seen.resolve();
    }

    expect(text.split("\n").filter((one) => /silent|keepalive/.test(one))).toContain(line);
    expect(text).toContain("At last.");
  });

  test("a runtime that does not return ends the run before its next call, which does not run", async () => {
    let answer = () => {};
    const gone = new Promise<void>((resolve) => (answer = resolve));
    const calls = [{ name: "look_up", arguments: { id: "1" } }];
    await using system = await startContractSystem(() => gone.then(() => ({ calls })), {
      connected: false,
      arrivalMs: 50,
    });
    const runtime = await system.connect(system.desk.service);
    const asked = system.query("hi");
    await system.standIn.received(1);
    await runtime.stop();
    answer();

    expect(await asked).toMatchObject({
      success: false,
      errorMessage: "Agent session not found",
      code: "agent_session_not_found",
      toolInteractions: [{ toolName: "look_up", success: false, code: "function_failed" }],
    });
    expect(system.desk.handled).toEqual([]);
  });

  test("a runtime that does not return during a call ends the run, and the call's outcome is unknown", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "act", arguments: { id: "1" } }]), {
      connected: false,
      reconnectMs: 50,
    });
    const runtime = await joinGateway(system.plane.port, helloFrom("gone", ["act"]), {
      Authorization: `Bearer ${system.runtimeKey}`,
    });
    const asked = system.query("hi");
    await runtime.next("call");
    runtime.socket.terminate();

    expect(await asked).toMatchObject({
      success: false,
      errorMessage: "Agent session not found",
      code: "agent_session_not_found",
      toolInteractions: [{ toolName: "act", success: false, code: "outcome_unknown" }],
    });
  });

  test("a comment line (: keepalive) during silence", async () => {
    await using system = await startContractSystem(scriptFor({ text: "never", stallAfterBytes: 1 }));
    const response = await system.post(system.path("query-stream"), { query: "hi" });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await reader.read();
    expect(value).toBe(": keepalive\n\n");
    await reader.cancel();
  });
});
