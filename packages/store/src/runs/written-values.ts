import type { WrittenValues } from "@patchbay/engine/ports/store/written-values";
import { inBatches } from "../columns.ts";
import { type Engine, repeat } from "../engine.ts";
import { insertion, is } from "../statement.ts";
import type { Schema } from "../tables/schema.ts";

type WrittenValueRow = Schema["written_values"];

/** What tainted runs wrote: other threads that read it back must not trust it. */
export function writtenValues(engine: Engine): WrittenValues {
  return {
    async noteWritten({ agentId, orgId }, values) {
      // In one order: two runs that write the same values would otherwise wait for each other.
      const ordered = [...values].toSorted(([one], [other]) => (one < other ? -1 : 1));
      const rows = ordered.map(([digest, isText]) => ({
        agent_id: agentId,
        digest,
        org_id: orgId,
        is_text: isText ? 1 : 0,
      }));
      await repeat(engine, () => insertWritten(engine, rows));
    },

    async written(agentId, digests) {
      const of = engine.db
        .selectFrom("written_values")
        .select(["digest", "is_text"])
        .where(is({ agent_id: agentId }));
      const rows = await inBatches(digests, (batch) => of.where("digest", "in", batch).execute());
      return new Map(rows.map(({ digest, is_text: isText }) => [digest, isText === 1]));
    },
  };
}

const insertWritten = insertion((rows: Omit<WrittenValueRow, "created_at">[], { db, dialect: { now } }) =>
  db
    .insertInto("written_values")
    .values(rows.map((row) => ({ ...row, created_at: now })))
    .onConflict((conflict) => conflict.doNothing()),
);
