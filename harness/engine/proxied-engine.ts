/**
 * The engine library in a process of its own, with a configuration that a test writes, for tests of the library alone.
 * Forked with the data directory and the configuration file as arguments; answers one query per message.
 */
import { createRequire } from "node:module";

type Addon = {
  CreateConnection(path: string, args: readonly string[]): unknown;
  QueryAsyncConnection(connection: unknown, sql: string, format: string): Promise<{ bytes: Buffer }>;
};

const chdb = createRequire(import.meta.url).resolve("chdb");
const { loadNative } = createRequire(chdb)("./dist/loader.js") as { loadNative(): Addon };
const [dataDir = "", configFile = ""] = process.argv.slice(2);
const addon = loadNative();
const connection = addon.CreateConnection(dataDir, [`--config-file=${configFile}`]);

process.on("message", ({ id, sql }: { id: number; sql: string }) => {
  addon.QueryAsyncConnection(connection, sql, "TabSeparated").then(
    ({ bytes }) => process.send?.({ id, text: bytes.toString() }),
    (error: Error) => process.send?.({ id, error: error.message }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0 });
