import { setDefaultLog } from "@patchbay/functions/sources";
import { afterEach, expect, test } from "vitest";
import { mcpFunctions } from "../src/index.ts";
import { HOSTILE, memoryLog } from "./support/desk.ts";

afterEach(() => setDefaultLog(undefined));

test("without a log in its options, a server uses that of the command that loads the service", async () => {
  const log = memoryLog();
  setDefaultLog(log);

  const { close } = await mcpFunctions({
    name: "h",
    server: { command: process.execPath, args: [HOSTILE] },
    roles: { absent: "everyone" },
  });
  await close();

  expect(log.lines).toMatchObject([{ level: "warn", fields: { mcpServer: "h", tools: ["absent"] } }]);
});
