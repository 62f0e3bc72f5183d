/**
 * Runs a program of ours on the Node that npm has put first: the one of the lock file where there is a package for the
 * platform, else the machine's own. Started without npm by an older Node, it takes that of the package. Plain CommonJS,
 * so that every Node understands at least what it says.
 */
const { resolve } = require("node:path");
const { pathToFileURL } = require("node:url");

const { isTooOld, runOnBundled } = require("../bin/bundled-node.cjs");

if (isTooOld) {
  runOnBundled(__filename, process.argv.slice(2));
} else {
  // The program finds its own name and arguments, as if it had been started itself.
  const [node, , program, ...args] = process.argv;
  process.argv = [node, resolve(program), ...args];
  import(pathToFileURL(process.argv[1]).href);
}
