import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";
import { programFolder } from "../support/mounted-page.ts";
import { expectTool } from "../support/tools-page.ts";

const PACKAGES = ["@langchain/core@1.4.0", "ai5@npm:ai@5.0.277", "ai6@npm:ai@6.0.325", "zod@4.6.7"];

const folder = programFolder(async (path) => {
  await writeFile(join(path, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: path });
});

test("a tool of LangChain", () => expectTool(folder, "Tools of LangChain"));

test.each(["ai5", "ai6"])("a tool of the AI SDK in %s", (version) =>
  expectTool(folder, "Tools of the AI SDK", { '"ai"': `"${version}"` }),
);
