import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeReliabilityPage } from "../../test/faults/stored-figures.ts";
import { reference, undescribed } from "./reference.ts";
import { render } from "./section.ts";

/** Writes the generated part of each page of docs/reference, which the page includes, and the tables of docs/reliability.md. */
const folder = join(import.meta.dirname, "../reference/generated");
const pages = reference();
const missing = undescribed(pages);
if (missing.length > 0)
  throw new Error(
    `The reference needs a description that says more than the name. Write it where the option or the member is defined:\n${missing.join("\n")}`,
  );
mkdirSync(folder, { recursive: true });
for (const [name, sections] of Object.entries(pages))
  writeFileSync(join(folder, `${name}.md`), `${render(sections)}\n`);
writeReliabilityPage();
