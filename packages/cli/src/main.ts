#!/usr/bin/env node
import { cacheCompiledCode } from "./compile-cache.ts";
import { startSmall } from "./young-generation.ts";

// What is imported from here on is compiled once and read from the cache at the next start.
cacheCompiledCode();
startSmall();
const { run } = await import("./program.ts");
const code = await run(process.argv);
// A pipe takes 64 KiB and leaves the rest waiting in this process: to exit at once would cut it off.
await Promise.all([process.stdout, process.stderr].map((to) => new Promise((written) => to.write("", written))));
process.exit(code);
