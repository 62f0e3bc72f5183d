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

/** RTLD_LAZY: functions are resolved when they are called first, as `ffi-rs` opens libraries. */
const lazily = 1;

let loading: Promise<unknown> | undefined;

/**
 * Loads the library in a thread, where the loader works for about 30 ms. Resolves when it has ended; a library that
 * cannot be loaded is reported by `runEngine`.
 */
export async function loadEngine(): Promise<void> {
  const { DataType, load } = nativeLibrary();
  loading ??= load({
    library: "c",
    funcName: "dlopen",
    retType: DataType.I64,
    paramsType: [DataType.String, DataType.I32],
    paramsValue: [engineLibrary(), lazily],
    runInNewThread: true,
    freeResultMemory: false,
  }) as unknown as Promise<unknown>;
  await loading;
}

/** Runs the engine's main function with these arguments. Resolves when it returns, which may never happen. */
export async function runEngine(args: readonly string[]): Promise<void> {
  await loadEngine();
  const { DataType, load, open } = nativeLibrary();
  open({ library: "chdb", path: engineLibrary() });
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
