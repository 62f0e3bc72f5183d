#!/usr/bin/env node
/**
 * Starts the program on a Node that it supports: this one, or the one of our own packages. Plain CommonJS, so that every
 * Node understands at least what it says.
 */
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { dirname, join } = require("node:path");
const { pathToFileURL } = require("node:url");

const least = require("./least-node.cjs");
const { argv, platform, arch, versions } = process;
const compiled = join(__dirname, "..", "dist", "main.js");
const program = existsSync(compiled) ? compiled : join(__dirname, "..", "src", "main.ts");

if (Number(versions.node.split(".")[0]) >= least) {
  argv[1] = program;
  // A folder of this user: others could leave code in a shared one.
  require("node:module").enableCompileCache(join(homedir(), ".cache", "millrace", "compile"));
  import(pathToFileURL(program).href);
} else {
  const node = bundledNode();
  if (node === undefined) {
    const here = `this is Node ${versions.node}, and no package of Node for ${platform}-${arch} is installed`;
    console.error(`Millrace needs Node ${least} or newer: ${here}.`);
    process.exit(1);
  }
  const child = require("node:child_process").spawn(node, [__filename, ...argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(signal === null ? code : 1));
}

/** The Node of our own optional packages, if there is one for this platform. */
function bundledNode() {
  for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
    try {
      const node = join(dirname(require.resolve(`${name}/package.json`)), "bin", "node");
      if (existsSync(node)) return node;
    } catch {
      // Not installed.
    }
  }
  return undefined;
}
