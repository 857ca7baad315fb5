// Writes what `publishConfig` says over each package.json named: `pnpm publish` does so, `pnpm deploy` does not.
import { readFileSync, writeFileSync } from "node:fs";

for (const file of process.argv.slice(2)) {
  const { publishConfig: { access: _, ...published } = {}, ...rest } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, `${JSON.stringify({ ...rest, ...published }, null, 2)}\n`);
}
