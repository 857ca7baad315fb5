/** The access that a manifest gives: its surface, and how one differs from another. */
export { accessComparison, compareAccess, type Widening, wideningComparison, widenings } from "./changes.ts";
export { type FlowFinding, flowRuleOf, nameDecision, withFlow } from "./flow/finding.ts";
export { labelsIn, labelsOf } from "./flow/labels.ts";
export { describeFlow, type FlowPair, flowPairs, heldBy } from "./flow/compare.ts";
export { type FlowNeed, flowNeeds } from "./flow/needs.ts";
export {
  contextForms,
  digestOf,
  type EndedCall,
  evidenceOf,
  leavesOf,
  pathText,
  withoutValues,
} from "./flow/results.ts";
export { explainFlow, flowEnding, type FlowFacts, flowFault } from "./flow/rule.ts";
export { callersWords, type CallersWords } from "./flow/words.ts";
export { outputSchemaFor } from "./output-schema.ts";
export { type AccessChange, cellFor, isRemoved, quote, RANK } from "./sentences.ts";
export { accessColumns, accessSurface, byName, isCounted, NO_ROLE, roleOfColumn } from "./surface.ts";
