#!/usr/bin/env node
import { cacheCompiledCode } from "./compile-cache.ts";
import { startSmall } from "./young-generation.ts";

// What is imported from here on is compiled once and read from the cache at the next start.
cacheCompiledCode();
startSmall();
const { run, written } = await import("./program.ts");
const code = await run(process.argv);
await written();
process.exit(code);
