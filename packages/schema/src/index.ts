/** JSON Schemas: references, members and patterns, comparison, redaction, and validation of an answer. */
export { checkResponseSchema } from "./answer/check.ts";
export { compilePattern, MOST_PARTS, type Pattern, textsLike } from "./answer/pattern.ts";
export { ANSWER_STEPS, createMatcher, validateAnswer } from "./answer/validate.ts";
export { show } from "./bounds.ts";
export { marksIn, redactedFor } from "./redaction.ts";
export {
  followRef,
  isSame,
  mapSchema,
  MARK,
  memberPath,
  pointerName,
  takeSchema,
  withOpenObjects,
  withoutAnnotations,
  withoutMark,
  withoutTexts,
} from "./subschemas.ts";
export { withFormats } from "./witness.ts";
export {
  compareSchemas,
  COMPARISON_STEPS,
  type SchemaChange,
  TOO_MANY_STEPS,
  type Verdict,
  type Wider,
  widerPlaces,
} from "./widening.ts";
