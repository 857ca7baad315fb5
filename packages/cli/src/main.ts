#!/usr/bin/env node
import { cacheCompiledCode, startSmall } from "./startup.ts";

// Only modules that are imported after these calls profit from them.
cacheCompiledCode();
startSmall();
const { run, written } = await import("./program.ts");
const code = await run(process.argv);
await written();
process.exit(code);
