/**
 * The process that judges calls to another version of a service, or to its mutants: argv[2] is the file. It obeys its
 * parent only, runs no handler, and ends when the channel to the parent closes.
 */
import { readEnvironment } from "./config.ts";
import { replaceCode } from "@patchbay/loading/module-hooks";
import { describeLoadError } from "@patchbay/loading/load-error";
import { keepStdoutForResults } from "./output.ts";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { dissect, selectMutant } from "@patchbay/access-lab/search/mutants";
import type { FromJudge, ToJudge } from "@patchbay/access-lab/search/judge-process";
import { loadService } from "./service-file.ts";

process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));
await answer(process.argv[2] ?? "");

async function answer(file: string): Promise<void> {
  keepStdoutForResults();
  const first = Promise.withResolvers<ToJudge>();
  process.once("message", first.resolve);
  try {
    readEnvironment();
    const message = await first.promise;
    const files = new Set<string>();
    if (message.type === "load") for (const { path, source } of message.mutated) replaceCode(path, source);
    selectMutant(0);
    const service = await loadService(file, { onFile: (path) => files.add(path) });
    const judge = judgeOf(service);
    process.on("message", (asked: ToJudge) => {
      if (asked.type !== "judge") return;
      const { id, mutant, functionName, columns, calls } = asked;
      selectMutant(mutant);
      void judge(functionName, columns, calls).then((decisions) => {
        send({ type: "judged", id, decisions, reached: mutant === 0 ? selectMutant(0) : [] });
      });
    });
    const { dissects = false, sought = {} } = message.type === "load" ? message : {};
    const dissection = dissects ? await dissect(service, files, sought.only) : undefined;
    const facts = await factsOf(service, files, sought);
    send({ type: "loaded", facts, ...(dissection && { dissection }) });
  } catch (error) {
    send({ type: "failed", reason: describeLoadError(error, file) }, () => process.exit(1));
  }
}

function send(message: FromJudge, then: () => void = () => {}): void {
  process.send?.(message, then);
}
