import { test } from "vitest";
import { programFolder } from "../support/mounted-page.ts";
import { expectTool } from "../support/tools-page.ts";

const folder = programFolder(async () => undefined);

/** LangChain has 20 MB: `test/packages/tool-libraries.test.ts` runs its section, and earlier versions of the AI SDK. */
test.each(["Tools of the AI SDK", "OpenAI's function JSON"])("the program of %s serves its tool by roles", (heading) =>
  expectTool(folder, heading),
);
