/**
 * The process that runs the functions under `patchbay dev`: argv[2] is their file. It obeys its parent alone, and ends when
 * the channel to the parent closes, however the parent ended.
 */
import { cacheCompiledCode } from "./compile-cache.ts";

// A terminal sends these to every process of the group; the parent drains us in its own order.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.on("disconnect", () => process.exit(0));

cacheCompiledCode();
const { serveFunctions } = await import("./dev/serve-functions.ts");
await serveFunctions(process.argv[2] ?? "");
