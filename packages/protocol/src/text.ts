import { z } from "zod";

/** Text of at most `maxUnits` UTF-16 units. Zod's own `max` counts code points, so that it lets twice as many units pass. */
export function textUpTo(maxUnits: number) {
  return z
    .string()
    .refine(({ length }) => length <= maxUnits, `must have at most ${maxUnits} UTF-16 units`)
    .meta({ maxLength: maxUnits });
}
