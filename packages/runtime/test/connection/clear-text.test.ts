import { expect, test } from "vitest";
import { connect, silentLog } from "../../src/index.ts";
import { defineService } from "../../src/index.ts";

const service = defineService({ name: "empty", functions: [] });

test.each([
  ["http://control.example.com", 1],
  ["ws://10.0.0.7:8787", 1],
  ["https://control.example.com", 0],
  ["http://127.0.0.1:9", 0],
  ["ws://localhost:9", 0],
  ["http://[::1]:9", 0],
])("connecting to %s logs %i warnings about clear text", async (url, times) => {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };

  await connect(service, { url, key: "k", log, signal: AbortSignal.abort() }).stop();

  expect(warnings.filter((message) => message.includes("without TLS"))).toHaveLength(times);
});
