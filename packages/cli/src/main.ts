#!/usr/bin/env node
import { cacheCompiledCode } from "./compile-cache.ts";

// What is imported from here on is compiled once and read from the cache at the next start.
cacheCompiledCode();
const { run } = await import("./program.ts");
process.exit(await run(process.argv));
