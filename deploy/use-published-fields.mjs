// Applies `publishConfig` to each given package.json: `pnpm publish` does this, `pnpm deploy` does not.
import { readFileSync, writeFileSync } from "node:fs";

for (const file of process.argv.slice(2)) {
  const { publishConfig: { access: _, ...published } = {}, ...rest } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, `${JSON.stringify({ ...rest, ...published }, null, 2)}\n`);
}
