/** Loads each service file of the arguments in this process, and prints its name or its error as a line of JSON. */
import { loadService } from "../../src/service-file.ts";

for (const path of process.argv.slice(2)) {
  const files: string[] = [];
  const result = await loadService(path, { onFile: (file) => files.push(file) }).then(
    ({ manifest }) => ({ name: manifest.name }),
    (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
  );
  console.log(JSON.stringify({ ...result, files }));
}
