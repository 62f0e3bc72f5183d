/**
 * Runs a program of ours on the Node that npm has put first: the one of the lock file where there is a package for the
 * platform, else the machine's own. Plain CommonJS, so that every Node understands at least what it says.
 */
const { resolve } = require("node:path");
const { pathToFileURL } = require("node:url");

const least = require("../bin/least-node.cjs");
const { version, platform, arch, versions } = process;
if (Number(versions.node.split(".")[0]) < least) {
  const here = `this is Node ${version}, and node_modules has no package of Node for ${platform}-${arch}`;
  console.error(`Millrace needs Node ${least} or newer: ${here}.`);
  process.exit(1);
}
// The program finds its own name and arguments, as if it had been started itself.
const [node, , program, ...args] = process.argv;
process.argv = [node, resolve(program), ...args];
import(pathToFileURL(process.argv[1]).href);
