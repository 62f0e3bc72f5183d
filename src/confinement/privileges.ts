/** What a process gives up besides access: rights of root, new privileges, and life without its parent. */
import { KernelError, kernelCall } from "./kernel.ts";

/** include/uapi/linux/prctl.h */
const setParentDeathSignal = 1;
const dropFromBoundingSet = 24;
const setNoNewPrivileges = 38;

const sigkill = 9;
const invalid = 22;
const notPermitted = 1;

/** From here on no program that is run gets rights that its caller has not, such as those of a setuid file. */
export function forbidNewPrivileges(): void {
  kernelCall("prctl", setNoNewPrivileges, 1);
}

/** The kernel ends this process when `parent` ends. Throws when it has ended already. */
export function dieWithParent(parent: number): void {
  kernelCall("prctl", setParentDeathSignal, sigkill);
  if (process.ppid !== parent) throw new Error("the parent has ended");
}

/** Gives up every capability: root without them is a user like any other, who owns root's files. */
export function dropCapabilities(): void {
  for (let capability = 0; capability < 64; capability += 1) {
    try {
      kernelCall("prctl", dropFromBoundingSet, capability);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      // Invalid: the last one that this kernel knows is behind us. Not permitted: there are none to give up.
      if (error.errno === invalid || error.errno === notPermitted) break;
      throw error;
    }
  }
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x20080522, 0);
  kernelCall("capset", header, Buffer.alloc(24));
}
