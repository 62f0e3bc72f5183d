/**
 * Starts programs on the Node of our own packages when an older one was told to run them. Plain CommonJS, which every
 * Node understands.
 */
const { existsSync } = require("node:fs");
const { dirname, join } = require("node:path");

const least = require("./least-node.cjs");
const { platform, arch, versions } = process;

exports.isTooOld = Number(versions.node.split(".")[0]) < least;

/** Runs a file on the Node of our own optional packages, and ends as it does. */
exports.runOnBundled = (file, args) => {
  const node = bundledNode();
  if (node === undefined) {
    const here = `this is Node ${versions.node}, and no package of Node for ${platform}-${arch} is installed`;
    console.error(`Millrace needs Node ${least} or newer: ${here}.`);
    process.exit(1);
  }
  const child = require("node:child_process").spawn(node, [file, ...args], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(signal === null ? code : 1));
};

/** Undefined: there is none for this platform. */
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
