import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const rules = fileURLToPath(new URL("../../deploy/prometheus-alerts.yaml", import.meta.url));
const cases = fileURLToPath(new URL("prometheus-alerts.test.yaml", import.meta.url));

const promtool = (...args: string[]) => spawnSync("promtool", args, { encoding: "utf8" });
const hasPromtool = promtool("--version").status === 0;

test("Prometheus accepts the alerts", { skip: !hasPromtool }, () => {
  expect(promtool("check", "rules", rules)).toMatchObject({ status: 0, stderr: "" });
});

test("each alert fires for its cause and is silent for what resembles it", { skip: !hasPromtool }, () => {
  const { status, stdout, stderr } = promtool("test", "rules", cases);
  expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 });

  const alerts = [...readFileSync(rules, "utf8").matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  const text = readFileSync(cases, "utf8");
  expect(
    alerts.filter((name) => !text.includes(`name: ${name} fires`) || !text.includes(`name: ${name} is silent`)),
  ).toEqual([]);
});
