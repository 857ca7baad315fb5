import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";

const UNITS = ["patchbay.service", "patchbay-connect.service"];
const read = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), "utf8");

describe.each(UNITS)("%s", (name) => {
  test.runIf(hasSystemd())("is one that systemd takes without a word", async () => {
    await using folder = await temporaryFolder();
    const command = join(folder.path, "patchbay");
    writeFileSync(command, "#!/bin/sh\n");
    chmodSync(command, 0o755);
    const unit = join(folder.path, name);
    writeFileSync(unit, read(name).replace("/usr/local/bin/patchbay", command));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("has time to drain, restarts without a limit, and may write only to its own folders", () => {
    const lines = read(name).split("\n");
    for (const line of [
      "TimeoutStopSec=30",
      "KillSignal=SIGTERM",
      "Restart=always",
      "StartLimitIntervalSec=0",
      "LimitNOFILE=65536",
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
    ])
      expect(lines).toContain(line);
    expect(lines.some((line) => line.startsWith("StateDirectory="))).toBe(true);
    expect(lines.some((line) => line.startsWith("EnvironmentFile="))).toBe(true);
  });

  test("starts an existing command with variables that it reads", async () => {
    const [, command = ""] = /^ExecStart=\S+ (\w+)/m.exec(read(name))!;
    const { code, stdout } = await runCommand([command, "--help"]);
    expect(code).toBe(0);
    for (const [variable] of read(name).matchAll(/PATCHBAY_\w+/g)) expect(stdout).toContain(variable);
  });
});

function hasSystemd(): boolean {
  if (spawnSync("systemd-analyze", ["--version"]).error === undefined) return true;
  console.warn("SKIPPED: no systemd-analyze found, so the units in deploy/ are not verified.");
  return false;
}
