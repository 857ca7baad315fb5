import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packAll } from "./pack.ts";

// Checks the packages as npm would publish them: their fields and files, and how their types resolve.
const folder = mkdtempSync(join(tmpdir(), "patchbay-check-"));
try {
  for (const tarball of await packAll(folder)) {
    execFileSync("publint", ["run", tarball, "--strict"], { stdio: "inherit" });
    // CommonJS loads ES modules with `require`, and its compiler needs declarations of its own for them.
    const ignored = ["--ignore-rules", "false-cjs"];
    execFileSync("attw", [tarball, "--profile", "esm-only", ...ignored], { stdio: "inherit" });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
