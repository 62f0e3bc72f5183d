/**
 * npm's `prepare`: builds the web console if its tools are installed. npm runs it for `npm ci --dry-run` too, which
 * changes nothing and may have no supported Node yet.
 */
const { join } = require("node:path");

// biome-ignore lint/style/noProcessEnv: npm passes its options there.
if (process.env.npm_config_dry_run !== "true") {
  process.argv.splice(2, 0, join("scripts", "build-console.ts"), "--if-possible");
  require("./run.cjs");
}
