import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { cpuMs, cpuMsWithChildren } from "../../bench/process.ts";

const BUSY = "const end = process.cpuUsage().user + 100_000; while (process.cpuUsage().user < end);";
/** Runs BUSY in a child, then says so and waits. */
const PARENT = `
  const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(BUSY)}]);
  child.once("exit", () => process.stdout.write("ended"));
  setInterval(() => {}, 1000);`;

test.runIf(process.platform === "linux")(
  "the time of a process with children includes children that have ended",
  async () => {
    const parent = spawn(process.execPath, ["-e", PARENT], { stdio: ["ignore", "pipe", "ignore"] });
    await once(parent.stdout, "data");
    const [own, all] = [cpuMs([parent.pid!]), cpuMsWithChildren(parent.pid!)];
    parent.kill();

    expect(all - own).toBeGreaterThanOrEqual(90);
  },
);
