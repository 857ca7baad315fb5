export * from "./agents.ts";
export * from "./insight.ts";
export * from "./organisation.ts";
export * from "./paging.ts";
export * from "./problem.ts";
export * from "./routes.ts";
export * from "./runs.ts";
export * from "./session.ts";
