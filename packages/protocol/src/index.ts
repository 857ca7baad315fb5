export * from "./codes.ts";
export * from "./events.ts";
export * from "./frames.ts";
export * from "./json.ts";
export * from "./limits.ts";
export * from "./manifest.ts";
export * from "./query.ts";
export * from "./response.ts";
