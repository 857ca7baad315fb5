import { z } from "zod";

/** Times on this interface are ISO 8601 in UTC, money is US dollars, durations are milliseconds. */
export const time = z.iso.datetime();

/** Part of a list; `nextCursor` asks for the next one and is null on the last. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() });

/** What every list takes in its query string. `limit` defaults to 50. */
export const paging = {
  // Digits only: Number also reads 0x10 and 1e1.
  limit: z.preprocess((text) => (/^\d+$/.test(String(text)) ? Number(text) : text), z.int().min(1).max(100)).optional(),
  cursor: z.string().max(1_000).optional(),
};

/** A stretch of time: `from` is in it, `to` is not. Without them the last 24 hours. */
export const range = { from: time.optional(), to: time.optional() };

export const label = z.string().trim().min(1).max(200);
