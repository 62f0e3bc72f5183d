/**
 * The engine library of this platform. Its `chdb_query_cmdline` is the main function of the engine's local tool, which
 * can open the genuine ClickHouse HTTP interface (`SYSTEM START LISTEN HTTP`). It runs in a thread of its own.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { arrayType, nativeLibrary } from "../../lib/native-library.ts";

/** The packages that `chdb` installs, by platform and processor. */
const packages: Readonly<Record<string, string>> = {
  "linux-x64": "@chdb/lib-linux-x64-gnu",
  "linux-arm64": "@chdb/lib-linux-arm64-gnu",
  "darwin-x64": "@chdb/lib-darwin-x64",
  "darwin-arm64": "@chdb/lib-darwin-arm64",
};

/**
 * Path of the engine library. Throws a one-sentence error when the platform has none or the package is not installed.
 */
export function engineLibrary(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw new Error(`the engine does not run on ${platform}`);
  const chdb = createRequire(import.meta.url).resolve("chdb");
  try {
    return join(dirname(createRequire(chdb).resolve(name)), "libchdb.so");
  } catch (error) {
    throw new Error(`the package ${name} is not installed: run npm install`, { cause: error });
  }
}

/** Loads the engine library, which takes about 30 ms, unless it is loaded. */
export function loadEngine(): void {
  if (loaded) return;
  nativeLibrary().open({ library: "chdb", path: engineLibrary() });
  loaded = true;
}

let loaded = false;

/** Runs the engine's main function with these arguments. Resolves when it returns, which may never happen. */
export async function runEngine(args: readonly string[]): Promise<void> {
  loadEngine();
  const { DataType, load } = nativeLibrary();
  const argv = ["clickhouse", ...args];
  await load({
    library: "chdb",
    funcName: "chdb_query_cmdline",
    retType: DataType.External,
    paramsType: [DataType.I32, arrayType(DataType.StringArray, argv.length)],
    paramsValue: [argv.length, argv],
    runInNewThread: true,
    freeResultMemory: false,
  });
}
