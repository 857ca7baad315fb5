import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "@patchbay/kit";
import { openStore } from "../src/open.ts";
import type { Place } from "./contract/world.ts";

export interface SqlitePlace extends Place {
  folder: string;
  file: string;
  url: string;
}

/** A folder of its own for one embedded database. */
export async function sqlitePlace(): Promise<SqlitePlace> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-store-"));
  const file = join(folder, "patchbay.db");
  const url = `sqlite:${file}`;
  return {
    folder,
    file,
    url,
    open: (clock) => openStore(url, { clock }),
    async rows(query) {
      const database = new DatabaseSync(file, { readOnly: true });
      const rows = database.prepare(query).all();
      database.close();
      return rows.map((row) => ({ ...row }) as JsonObject);
    },
    async execute(statement) {
      const database = new DatabaseSync(file);
      database.exec(statement);
      database.close();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
