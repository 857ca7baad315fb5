/** The console's API: its routes with their request and response shapes. */
export * from "./access-routes.ts";
export * from "./agents.ts";
export * from "./approval-routes.ts";
export { AccessReview } from "./evidence-routes.ts";
export * from "./insight.ts";
export * from "./organisation.ts";
export * from "./route.ts";
export * from "./routes.ts";
export * from "./run-lists.ts";
export * from "./runs.ts";
export * from "./scopes.ts";
export * from "./service-tokens.ts";
export * from "./webhook-routes.ts";
