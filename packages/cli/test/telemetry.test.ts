import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

/** Makes the SDK one that is not installed. */
const WITHOUT_SDK = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "@opentelemetry/sdk-node") return next(specifier, context);
    throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  },
});`;

test("--otel without the SDK says how to install it, and starts nothing", async () => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await runCommand(["serve", "--otel", "--port", "0", "--data-dir", folder.path], {
    env: { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(WITHOUT_SDK)}"` },
  });

  expect(code).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain("npm install @opentelemetry/sdk-node");
});
