import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Postgres } from "./postgres.ts";

/** Where a deployment of Patchbay stores its data. Each round uses a fresh copy of a template. */
export interface Storage {
  /** Options of the commands that fill the template. */
  template: readonly string[];
  copy(): Promise<Copy>;
}

interface Copy extends AsyncDisposable {
  /** Options of `patchbay serve`. */
  options: readonly string[];
  databaseCpuMs?(): number;
}

/** The embedded database, in a folder. */
export function embedded(folder: string): Storage {
  const template = join(folder, "template");
  mkdirSync(template, { recursive: true });
  return {
    template: ["--data-dir", template],
    async copy() {
      const data = mkdtempSync(join(folder, "data-"));
      cpSync(template, data, { recursive: true });
      return {
        options: ["--data-dir", data],
        [Symbol.asyncDispose]: async () => rmSync(data, { recursive: true, force: true }),
      };
    },
  };
}

export async function onPostgres(postgres: Postgres, folder: string): Promise<Storage> {
  mkdirSync(folder, { recursive: true });
  const options = (url: string): string[] => ["--database", url, "--data-dir", folder];
  const template = await postgres.createDatabase();
  return {
    template: options(template.url),
    async copy() {
      const database = await postgres.createDatabase(template.name);
      return {
        options: options(database.url),
        databaseCpuMs: () => postgres.cpuMs(),
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      };
    },
  };
}
