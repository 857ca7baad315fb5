/** The access that a manifest gives: its surface, and how one differs from another. */
export { accessComparison, compareAccess, type Widening, wideningComparison, widenings } from "./changes.ts";
export { outputSchemaFor } from "./output-schema.ts";
export { type AccessChange, cellFor, isRemoved, quote, RANK } from "./sentences.ts";
export { accessColumns, accessSurface, byName, NO_ROLE, roleOfColumn } from "./surface.ts";
