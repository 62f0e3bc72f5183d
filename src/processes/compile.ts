/**
 * Loads what confined children run, so that Node has it compiled, and ends. These modules do nothing before the message
 * of a parent.
 */
import { flushCompileCache } from "node:module";
import { connectors } from "../sources/connectors.ts";

await Promise.all([
  import("./engine-host.ts"),
  import("./engine-serving.ts"),
  import("./pipe-worker.ts"),
  import("../lib/logger.ts"),
  ...Object.values(connectors).map((load) => load()),
]);
flushCompileCache();
process.exit();
