/** The keyword that marks a member: in JSON Schema, in the metadata of zod 4, and in the definitions of zod itself. */
export const MARK = "x-visible-to";
