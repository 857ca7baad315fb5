import { randomInt } from "node:crypto";
import { dirname, relative } from "node:path";
import type { Service } from "@patchbay/functions";
import { launchJudge } from "../search-child.ts";
import { type Adequacy, measureAdequacy, percentKilled } from "../search/adequacy.ts";
import { factsOf } from "../search/facts.ts";
import { judgeOf } from "../search/judge.ts";
import { mutantsOf } from "../search/mutants.ts";
import { DEFAULTS, explore } from "../search/search.ts";
import type { EvidenceFolder } from "./folder.ts";

interface Searched {
  path: string;
  service: Service;
  files: ReadonlySet<string>;
}

/** Searches calls that no case shows, and measures how many changed conditions the cases notice, with the seed of both. */
export async function writeSearch(folder: EvidenceFolder, { path, service, files }: Searched): Promise<void> {
  const seed = randomInt(2 ** 32);
  const functions = await explore({ facts: factsOf(service, files), judge: judgeOf(service) }, { ...DEFAULTS, seed });
  await folder.write("search.json", { seed, functions });
  const { mutants, mutated } = mutantsOf(service, files);
  const launch = () => launchJudge(path, { name: `${path} with mutants`, mutated });
  const adequacy: Adequacy = await measureAdequacy(mutants, launch, { ...DEFAULTS, checks: 3_000, seed });
  const survivors = adequacy.survivors.map(({ mutant, ...one }) => ({
    ...one,
    mutant: { ...mutant, path: relative(dirname(path), mutant.path) },
  }));
  await folder.write("adequacy.json", { seed, percent: percentKilled(adequacy), ...adequacy, survivors });
}
