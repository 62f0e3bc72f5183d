#!/usr/bin/env node
/**
 * Starts the program on a Node that it supports: this one, or the one of our own packages. Plain CommonJS, so that every
 * Node understands at least what it says.
 */
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const { isTooOld, runOnBundled } = require("./bundled-node.cjs");
const compiled = join(__dirname, "..", "dist", "main.js");
const program = existsSync(compiled) ? compiled : join(__dirname, "..", "src", "main.ts");

if (isTooOld) {
  runOnBundled(__filename, process.argv.slice(2));
} else {
  process.argv[1] = program;
  // A folder of this user: others could leave code in a shared one.
  require("node:module").enableCompileCache(join(homedir(), ".cache", "millrace", "compile"));
  import(pathToFileURL(program).href);
}
