/** What every package needs: JSON, text, logs, comparisons within a step budget, and CSV. */
export { isEncoded, lossIn, readArguments, withExactArguments } from "./arguments.ts";
export {
  canonicalJson,
  inexactMessage,
  inexactNumber,
  inexactToText,
  isJsonObject,
  JSON_DEPTH,
  type JsonObject,
  type JsonValue,
  depthOf,
  nestsDeeper,
  type ParsedJson,
  parseJson,
  present,
} from "./json.ts";
export { type Log, LOG_LEVELS, type LogFields, type LogLevel, logText, logTo, prettyText, silentLog } from "./log.ts";
export { oncePer } from "./once-per.ts";
export { type Steps, takeSteps, TooManySteps, UNLIMITED, within } from "./steps.ts";
export { escapeControls, isClearText, isLoopback, isoTime, isoTimeOrNull, timeText } from "./text.ts";
export { withoutOne, withUnknownIds } from "./unknown-ids.ts";
export { wellFormed, wellFormedJson, wholePairs } from "./well-formed.ts";
export { csvCell } from "./csv.ts";
