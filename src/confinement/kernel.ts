/** System calls for which Node has no function. Linux on x64 and arm64. Used in a process with one thread of ours. */
import { callC } from "../lib/native-library.ts";

/** Numbers of system calls, by architecture: include/uapi/asm-generic/unistd.h and arch/x86/entry/syscalls. */
const numbers = {
  x64: { prctl: 157, capset: 126, fcntl: 72, ioctl: 16, dup3: 292, mmap: 9, seccomp: 317 },
  arm64: { prctl: 167, capset: 91, fcntl: 25, ioctl: 29, dup3: 24, mmap: 222, seccomp: 277 },
} as const;

/** The same on every architecture. */
const common = {
  landlock_create_ruleset: 444,
  landlock_add_rule: 445,
  landlock_restrict_self: 446,
  close_range: 436,
} as const;

type CallName = keyof typeof common | keyof (typeof numbers)["x64"];

export class KernelError extends Error {
  readonly errno: number;

  constructor(call: string, errno: number, reason: string) {
    super(`${call}: ${reason}`);
    this.errno = errno;
  }
}

/** The architectures with known numbers. */
export type Architecture = keyof typeof numbers;

/** Undefined on other systems and architectures. */
export function architecture(): Architecture | undefined {
  if (process.platform !== "linux") return undefined;
  return process.arch === "x64" || process.arch === "arm64" ? process.arch : undefined;
}

/** Calls the kernel; a Buffer is passed as its address. Throws KernelError. */
export function kernelCall(name: CallName, ...args: readonly (number | Buffer)[]): number {
  const arch = architecture();
  if (arch === undefined) throw new KernelError(name, 0, "not known on this system");
  const number = name in common ? common[name as keyof typeof common] : numbers[arch][name as keyof typeof numbers.x64];
  const { value, errno, reason } = callC("syscall", [number, ...args, ...Array<number>(6 - args.length).fill(0)]);
  if (value === -1) throw new KernelError(name, errno, reason);
  return value;
}

/**
 * Copies bytes to memory that stays allocated until the process ends or executes another program; returns its address.
 */
export function placed(bytes: Buffer): number {
  const readWrite = 3;
  const privateAnonymous = 0x22;
  const address = kernelCall("mmap", 0, bytes.length, readWrite, privateAnonymous, -1, 0);
  callC("memcpy", [address, bytes, bytes.length]);
  return address;
}
