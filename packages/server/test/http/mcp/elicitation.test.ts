import { expect, test } from "vitest";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { AdapterCaller } from "../../../src/query/caller.ts";
import { openQuestion, passReply } from "../../../src/query/mcp/elicitation.ts";
import { provenCaller } from "../../accounts/proven-caller.ts";

const principal = {
  keyId: "key_1",
  agentId: "agt_1",
  orgId: "org_1",
  tier: "sandbox",
  proven: { ...provenCaller("ada"), context: { tenant: 7 } },
};
const ada: AdapterCaller = {
  principal,
  holder: principal,
  role: "clerk",
  context: { id: 1 },
  threadScope: "key_1 ada",
};

test.each<[string, Partial<AdapterCaller>]>([
  ["of another caller or key", { threadScope: "key_1 eve" }],
  ["in another role", { role: "manager" }],
  ["with another context", { context: { id: 2 } }],
  [
    "with other proven claims",
    { principal: { ...principal, proven: { ...principal.proven, context: { tenant: 8 } } } },
  ],
  ["for another chat", { threadKey: "chat-2" }],
])("a question takes no reply %s, and then that of its caller", async (_who, other) => {
  const deps = { bus: createMemoryBus(), within: <T>(_orgId: string, work: () => T) => work() };
  const replies: unknown[] = [];
  const decide = async (reply: unknown) => replies.push(reply) > 0;
  using question = openQuestion({ deps, caller: ada }, decide);
  const pass = (caller: AdapterCaller, action: string) =>
    passReply({ deps, caller }, { id: question.id, reply: { action } });

  await expect(pass({ ...ada, ...other }, "accept")).rejects.toMatchObject({
    code: "invalid_request",
    details: [{ path: "id", message: "is not that of an open question of this caller" }],
  });
  expect(replies).toEqual([]);
  await pass(ada, "decline");
  expect(replies).toEqual([{ action: "decline" }]);
});
