/** System calls that Node has no function for. Linux on x64 and arm64. Used in a process that has one thread of ours. */
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Numbers of system calls, by architecture: include/uapi/asm-generic/unistd.h and arch/x86/entry/syscalls. */
const numbers = {
  x64: { prctl: 157, capset: 126, fcntl: 72, mmap: 9, seccomp: 317 },
  arm64: { prctl: 167, capset: 91, fcntl: 25, mmap: 222, seccomp: 277 },
} as const;

/** The same on every architecture. */
const common = { landlock_create_ruleset: 444, landlock_add_rule: 445, landlock_restrict_self: 446 } as const;

type CallName = keyof typeof common | keyof (typeof numbers)["x64"];

export class KernelError extends Error {
  readonly errno: number;

  constructor(call: string, errno: number, reason: string) {
    super(`${call}: ${reason}`);
    this.errno = errno;
  }
}

/** The architectures that the numbers above are known for. */
export type Architecture = keyof typeof numbers;

/** Undefined on other systems and architectures. */
export function architecture(): Architecture | undefined {
  if (process.platform !== "linux") return undefined;
  return process.arch === "x64" || process.arch === "arm64" ? process.arch : undefined;
}

/** Loaded with the first call: a control plane without confinement never maps the library. */
let library: typeof import("ffi-rs") | undefined;

function loaded(): typeof import("ffi-rs") {
  if (library === undefined) {
    library = require("ffi-rs") as typeof import("ffi-rs");
    // An empty path is the process itself, which has the C library loaded.
    library.open({ library: "c", path: "" });
  }
  return library;
}

/** Calls the kernel; a Buffer is passed as its address. Throws KernelError. */
export function kernelCall(name: CallName, ...args: readonly (number | Buffer)[]): number {
  const arch = architecture();
  if (arch === undefined) throw new KernelError(name, 0, "not known on this system");
  const { DataType, load } = loaded();
  const number = name in common ? common[name as keyof typeof common] : numbers[arch][name as keyof typeof numbers.x64];
  const all = [number, ...args, ...Array<number>(6 - args.length).fill(0)];
  const { value, errnoCode, errnoMessage } = load({
    library: "c",
    funcName: "syscall",
    retType: DataType.I64,
    paramsType: all.map((arg) => (typeof arg === "number" ? DataType.I64 : DataType.U8Array)),
    paramsValue: all,
    errno: true,
  }) as unknown as { value: number; errnoCode: number; errnoMessage: string };
  if (value === -1) throw new KernelError(name, errnoCode, errnoMessage);
  return value;
}

/** Copies bytes to memory of their own, which stays until the process ends or runs another program; its address. */
export function placed(bytes: Buffer): number {
  const readWrite = 3;
  const privateAnonymous = 0x22;
  const address = kernelCall("mmap", 0, bytes.length, readWrite, privateAnonymous, -1, 0);
  const { DataType, load } = loaded();
  load({
    library: "c",
    funcName: "memcpy",
    retType: DataType.I64,
    paramsType: [DataType.I64, DataType.U8Array, DataType.I64],
    paramsValue: [address, bytes, bytes.length],
  });
  return address;
}
