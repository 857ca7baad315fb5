import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { plane, runtimeOf } from "./hand-plane.ts";

test("a shadow runtime runs no call that a control plane sends to it, and answers what its checks decide", async () => {
  const { url, link } = await plane();
  const ran: string[] = [];
  const echo = defineFunction({
    name: "echo",
    description: "x",
    input: { type: "object" },
    roles: ["clerk"],
    handler: () => void ran.push("echo"),
  });
  const runtime = runtimeOf(url, defineService({ name: "desk", functions: [echo] }), { shadow: true });
  const connection = await link();
  const hello = await connection.next("shadow");
  connection.send({ type: "welcome", connectionId: "link_1", agentId: "agent-a", heartbeatMs: 10_000 });
  const seen: string[] = [];
  connection.socket.on("message", (data) =>
    seen.push((JSON.parse((data as Buffer).toString()) as { type: string }).type),
  );

  connection.send(callFrame("c1", { role: "clerk" }));
  connection.send(callFrame("c2", { role: "clerk", unsure: true }));
  connection.send({ type: "callQuery", callId: "c1", attempt: 1 });
  connection.send({ type: "prepare", id: "p1", context: {} });
  const question = { type: "judge", function: "echo", arguments: {}, context: {} };
  connection.send({ ...question, id: "j1", role: "clerk" });
  const allowed = await connection.next("judged");
  connection.send({ ...question, id: "j2" });
  const denied = await connection.next("judged");
  await runtime.stop();

  expect(hello.manifest.name).toBe("desk");
  expect(allowed).toEqual({ type: "judged", id: "j1", decision: "allowed" });
  expect(denied).toEqual({ type: "judged", id: "j2", decision: "denied", rule: "roles" });
  expect(seen).toEqual(["judged", "judged"]);
  expect(ran).toEqual([]);
});
