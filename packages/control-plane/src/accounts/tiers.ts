import { z } from "zod";

export interface Tier {
  /** null: no limit. */
  queriesPerMinute: number | null;
  /** Whether model turns are paid from the organisation's credits. */
  charged: boolean;
}

/** Tiers by name. */
export type Tiers = Readonly<Record<string, Tier>>;

export const DEFAULT_TIERS: Tiers = {
  sandbox: { queriesPerMinute: null, charged: false },
  starter: { queriesPerMinute: 60, charged: true },
  growth: { queriesPerMinute: 600, charged: true },
  scale: { queriesPerMinute: 6000, charged: true },
};

const TiersFile: z.ZodType<Record<string, Tier>> = z.record(
  z.string().min(1),
  z.strictObject({ queriesPerMinute: z.int().positive().nullable(), charged: z.boolean() }),
);

/** The default tiers with those of a tiers file over them. Throws an error that lists every fault of the file. */
export function parseTiers(text: string): Tiers {
  const parsed = TiersFile.safeParse(parseText(text));
  if (parsed.success) return { ...DEFAULT_TIERS, ...parsed.data };
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
  throw new Error(`${FORM} ${faults.join("; ")}.`);
}

/** The tier of this name. One that is not known any more is charged and held to the smallest default limit. */
export function tierNamed(tiers: Tiers, name: string): Tier {
  const known = Object.hasOwn(tiers, name) ? tiers[name] : undefined;
  return known ?? { queriesPerMinute: 60, charged: true };
}

const FORM = 'A tiers file is JSON like {"team": {"queriesPerMinute": 120, "charged": true}}, null for no limit.';

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${FORM} This one is not valid JSON.`, { cause });
  }
}
