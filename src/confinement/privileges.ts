/** What a process gives up besides access: root's capabilities, new privileges, and life without its parent. */
import { kernelCall } from "./kernel.ts";

/** include/uapi/linux/prctl.h */
const setParentDeathSignal = 1;
const setNoNewPrivileges = 38;

const sigkill = 9;
/** From here on no executed program gains rights that its caller lacks, such as those of a setuid file. */
export function forbidNewPrivileges(): void {
  kernelCall("prctl", setNoNewPrivileges, 1);
}

/** The kernel ends this process when `parent` ends. Throws when it has ended already. */
export function dieWithParent(parent: number): void {
  kernelCall("prctl", setParentDeathSignal, sigkill);
  if (process.ppid !== parent) throw new Error("the parent has ended");
}

/**
 * Drops every capability: root without them is an ordinary user who owns root's files. Because no new privileges are
 * allowed, executing a program as root does not restore them.
 */
export function dropCapabilities(): void {
  // struct __user_cap_header_struct: version 3, this thread; then two empty sets of effective, permitted, inheritable.
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x20080522, 0);
  kernelCall("capset", header, Buffer.alloc(24));
}
