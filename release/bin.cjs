#!/usr/bin/env node
// The command of a package, as dist/bin.cjs. It starts main.js, which old versions of Node.js cannot parse: this file is plain
// enough for all from 12 on, for Bun and for Deno, and tells them what the package needs.
"use strict";
const { name, engines } = require("../package.json");
const needed = engines.node.slice(">=".length);
const [major, minor] = process.versions.node.split(".").map(Number);
const [neededMajor, neededMinor = 0] = needed.split(".").map(Number);

const other = process.versions.bun ? "Bun" : process.versions.deno ? "Deno" : undefined;

if (other) {
  process.stderr.write(
    `error: ${name} cannot start with ${other} (${process.execPath}): it needs Node.js ${needed} or newer, from https://nodejs.org. ` +
      `Functions run in ${other}, too: connect them with connect() of @patchbay/functions.\n`,
  );
  process.exitCode = 1;
} else if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
  void import("./main.js");
} else {
  process.stderr.write(
    `error: ${name} cannot start with Node.js ${process.versions.node} (${process.execPath}): it needs ${needed} or newer. ` +
      "Install a newer version from https://nodejs.org, then run the command again.\n",
  );
  process.exitCode = 1;
}
