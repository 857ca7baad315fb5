import { expect, test } from "vitest";
import { QUERY, startHttp } from "./support/start-http.ts";

test("organisations take turns with lists and details, which do not delay queries", async () => {
  const turns: string[] = [];
  await using http = await startHttp({
    reads: {
      run(client, work) {
        turns.push(client.key);
        return work();
      },
    },
  });

  await http.get("/agents/agent-1/threads");
  await http.get("/agents/agent-1/threads/thr_known");
  await http.get("/agents/agent-1/runs/run_1");
  const read = [...turns];
  await http.post(QUERY, { query: "hi" });

  expect(read).toHaveLength(3);
  expect(new Set(read).size).toBe(1);
  expect(turns).toEqual(read);
});
