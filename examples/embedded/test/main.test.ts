import { expect, test } from "vitest";
import { ask } from "../main.ts";

test("a control plane and its functions in one process answer a query over HTTP", async () => {
  const answer = await ask("How many pieces of the article tent are in stock?");

  expect(answer.toolInteractions).toEqual([
    { toolName: "count_stock", parameters: { article: "tent" }, success: true, result: { article: "tent", pieces: 4 } },
  ]);
  expect(answer.response).toContain("4");
});
