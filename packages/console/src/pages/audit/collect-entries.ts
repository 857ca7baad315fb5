import type { AuditItem } from "@patchbay/protocol/console";

interface Page {
  items: AuditItem[];
  nextCursor: string | null;
}

/** As many entries as one export holds: some 10 MB. */
export const EXPORT_LIMIT = 20_000;

/** Entries as JSON lines, newest first, part after part. `cut` where there are more than the limit. */
export async function collectEntries(
  getPage: (cursor: string | undefined) => Promise<Page>,
  onProgress: (count: number) => void,
  limit = EXPORT_LIMIT,
): Promise<{ text: string; count: number; cut: boolean }> {
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await getPage(cursor);
    lines.push(...items.map((item) => `${JSON.stringify(item)}\n`));
    cursor = nextCursor ?? undefined;
    onProgress(Math.min(lines.length, limit));
  } while (cursor !== undefined && lines.length < limit);
  const cut = cursor !== undefined || lines.length > limit;
  const kept = lines.slice(0, limit);
  return { text: kept.join(""), count: kept.length, cut };
}
