import { expect, test, vi } from "vitest";
import { createTargets } from "../../bench/targets.ts";
import type { Installation } from "../../bench/build.ts";

vi.mock("../../bench/postgres.ts", () => ({
  startPostgres: () => Promise.reject(new Error("initdb is missing")),
}));

test("without Postgres, its systems are skipped with one line that names them and the reason", async () => {
  await using cleanup = new AsyncDisposableStack();
  const notes: string[] = [];

  const targets = await createTargets(["B", "P", "N", "F"], {
    installation: {} as Installation,
    service: "service.js",
    folder: "unused",
    floorScript: (name) => name,
    cleanup,
    note: (text) => void notes.push(text),
  });

  expect(targets.map(({ letter }) => letter)).toEqual(["B"]);
  expect(notes).toEqual([
    "!!! POSTGRES IS NOT MEASURED (P, N, F): Error: initdb is missing. Install Postgres or run pnpm install. !!!",
  ]);
});
