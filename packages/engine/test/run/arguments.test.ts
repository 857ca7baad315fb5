import { expect, test } from "vitest";
import type { ModelRequest } from "../../src/ports/model-provider.ts";
import { manifest } from "./approval-desk.ts";
import { startScripted } from "./core.ts";

test.each([
  ['{"orderId":2512292042121000001,"amount":200}', 'the number 2512292042121000001 in "orderId"'],
  ['{"orderId":"o1","amount":1,"amount":200}', 'the member "amount" twice'],
  ['"{\\"orderId\\":\\"o1\\",\\"amount\\":200}"', "a text that holds JSON"],
  ['{"orderId":', "not valid JSON"],
])("a call with %s goes back to the model, without a person and without its function", async (written, reason) => {
  const requests: ModelRequest[] = [];
  const turns = (request: ModelRequest, index: number) => {
    requests.push(request);
    return index === 0 ? { calls: [["refund", written] as const] } : { text: "Done." };
  };
  await using core = await startScripted(turns, { manifest: manifest() });

  const answer = await core.query("Refund o1", { role: "clerk" });

  expect(answer).toMatchObject({ success: true, response: "Done." });
  expect(answer.approvals).toBeUndefined();
  expect(answer.toolInteractions).toMatchObject([
    { parameters: written, success: false, code: "invalid_arguments", errorMessage: expect.stringContaining(reason) },
  ]);
  expect(core.runtime.orders).toEqual([]);
  expect(requests[1]?.messages.at(-1)).toMatchObject({
    results: [{ isError: true, content: expect.stringContaining(reason) }],
  });
});
