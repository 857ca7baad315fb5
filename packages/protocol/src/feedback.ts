import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { optional, textUpTo } from "./query.ts";

const OUT_OF_RANGE = "must be from -1 to 1";

/** A reader's feedback on a run's answer. A key's newest feedback replaces its previous one. */
export const Feedback = z
  .object({
    score: optional(z.number("must be a number").min(-1, OUT_OF_RANGE).max(1, OUT_OF_RANGE)).describe(
      "From -1, bad, to 1, good.",
    ),
    tags: optional(
      z
        .array(textUpTo(LIMITS.feedbackTagUnits).min(1, "must not be empty"))
        .max(LIMITS.feedbackTags, `must have at most ${LIMITS.feedbackTags} tags`),
    ).describe(`At most ${LIMITS.feedbackTags} words, by which the console finds runs.`),
    comment: optional(textUpTo(LIMITS.feedbackCommentUnits)).describe(
      "What was good or wrong, for the members who read the run.",
    ),
  })
  .refine((given) => Object.values(given).some((member) => member !== undefined), "must have score, tags or comment");
export type Feedback = z.infer<typeof Feedback>;
