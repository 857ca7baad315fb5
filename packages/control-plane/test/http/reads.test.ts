import { expect, test } from "vitest";
import { QUERY, startHttp } from "./support/start-http.ts";

test("lists and details are read in turn over the organisations, and queries are not held up by them", async () => {
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
