/** Calls functions of shared libraries through `ffi-rs`. */
import { createRequire } from "node:module";
import type { DataType } from "ffi-rs";

const require = createRequire(import.meta.url);

type NativeLibrary = Pick<typeof import("ffi-rs"), "open" | "load" | "DataType" | "FFITypeTag">;

/** Loaded by the first call. */
let binding: NativeLibrary | undefined;

/** The functions of `ffi-rs`. The C library, and everything else that is loaded already, is open as "c". */
export function nativeLibrary(): NativeLibrary {
  if (binding === undefined) {
    binding = find();
    // An empty path means the process itself.
    binding.open({ library: "c", path: "" });
  }
  return binding;
}

/** The type of an array parameter, as the package's index makes it; its typings do not know the tag. */
export function arrayType(type: DataType, length: number): never {
  const { Array: ffiTypeTag } = nativeLibrary().FFITypeTag as { Array?: unknown };
  return { type, length, ffiTypeTag } as never;
}

/** The result of a function of the C library, and why it failed where its value says so. */
export type CAnswer = { readonly value: number; readonly errno: number; readonly reason: string };

/** Calls a function of the C library that takes numbers and addresses of buffers, and returns a long. */
export function callC(name: string, args: readonly (number | Buffer)[]): CAnswer {
  const { DataType, load } = nativeLibrary();
  const types = args.map((arg) => (typeof arg === "number" ? DataType.I64 : arrayType(DataType.U8Array, arg.length)));
  const answer = load({
    library: "c",
    funcName: name,
    retType: DataType.I64,
    paramsType: types as never,
    paramsValue: args as (number | Buffer)[],
    errno: true,
    freeResultMemory: false,
  }) as unknown as { value: number; errnoCode: number; errnoMessage: string };
  return { value: answer.value, errno: answer.errnoCode, reason: answer.errnoMessage };
}

/**
 * The package's binding of this platform. Its index would have Node write a process report to detect the C library,
 * which takes 5 ms of every start; it is used only where the usual binding is missing.
 */
function find(): NativeLibrary {
  try {
    return createRequire(require.resolve("ffi-rs"))(`@yuuang/ffi-rs-linux-${process.arch}-gnu`) as NativeLibrary;
  } catch {
    return require("ffi-rs") as NativeLibrary;
  }
}
