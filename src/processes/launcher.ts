/**
 * Confines its process and then executes the real program in it. Node loads this file with `--require`, so it runs
 * before the first turn of the event loop, and nothing is read from the channel to the parent, which the real program
 * inherits unread.
 *
 * The process executes another program instead of confining itself and continuing, because Landlock applies to the
 * calling thread: the threads that V8 and Node start before the first line of JavaScript would stay unconfined.
 * Executing a program leaves only the calling thread.
 */
import { closeSync, constants, existsSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { architecture, kernelCall } from "../confinement/kernel.ts";
import { landlockVersion, pathOnly, restrictSelf } from "../confinement/landlock.ts";
import { type Launch, launchVariable } from "../confinement/launch.ts";
import { dieWithParent, dropCapabilities, forbidNewPrivileges } from "../confinement/privileges.ts";
import { filterSelf } from "../confinement/seccomp.ts";

/** include/uapi/linux/fcntl.h */
const setDescriptorFlags = 2;

/** include/uapi/asm-generic/ioctls.h */
const unlockTerminal = 0x40045431;
const openTerminal = 0x5441;

/** The scale ends at 1000; the control plane has 0. */
const outOfMemoryScore = "300";

/** The exit code of shells when a program cannot be executed. */
const cannotRun = 126;

try {
  // biome-ignore lint/style/noProcessEnv: a message of the parent, not configuration.
  launch(awaitLaunch(Number(process.env[launchVariable])));
} catch (error) {
  writeSync(2, `the process could not be confined: ${error instanceof Error ? error.message : error}\n`);
  process.exit(cannotRun);
}

/** Waits for the parent, which may have started this process long before it is needed. */
function awaitLaunch(fd: number): Launch {
  // The first call loads the native library, which happens while nobody waits.
  landlockVersion();
  // Nothing can be written there once the process is confined.
  flushCompileCache();
  const text = readFileSync(fd, "utf8");
  closeSync(fd);
  // The parent ended before it needed this process.
  if (text === "") process.exit(0);
  return JSON.parse(text) as Launch;
}

function launch({ command, args, environment, rules, parent, inherited, landlock }: Launch): void {
  const arch = architecture();
  if (arch === undefined) throw new Error(`${process.platform} on ${process.arch} is not supported`);
  endFirst();
  forbidNewPrivileges();
  dropCapabilities();
  dieWithParent(parent);
  closeOnExecution();
  if (rules.terminal) inputIsTerminal();
  const own = keepOwn(rules.own);
  const version = Math.min(landlock, landlockVersion());
  if (version >= rules.leastLandlock) {
    restrictSelf({ ...rules, read: [...rules.read, ...own], execute: [...rules.execute, command] }, version);
  }
  filterSelf(rules, arch);
  for (const fd of inherited) keepOpen(fd);
  if (process.execve === undefined) throw new Error("this version of Node cannot run another program");
  process.execve(command, [command, ...args], environment);
}

/** When memory runs out, a child is killed before the control plane. */
function endFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", outOfMemoryScore);
  } catch {
    // The score is higher already.
  }
}

/**
 * Every descriptor but the standard three is closed when the program is executed, also one that the control plane has
 * inherited from whoever started it.
 */
function closeOnExecution(): void {
  const last = 0xffffffff;
  const closeOnExec = 4;
  kernelCall("close_range", 3, last, closeOnExec);
}

/**
 * The side of a terminal that a terminal window has, after the other side was closed: who reads here gets an error
 * instead of waiting. It is nobody's controlling terminal. Where the system has no terminals, the input stays empty.
 */
function inputIsTerminal(): void {
  const how = constants.O_RDWR | constants.O_NOCTTY;
  try {
    const window = openSync("/dev/ptmx", how);
    kernelCall("ioctl", window, unlockTerminal, Buffer.alloc(4));
    closeSync(kernelCall("ioctl", window, openTerminal, how));
    kernelCall("dup3", window, 0, 0);
  } catch {
    // A container may have none.
  }
}

/**
 * What rules name in the process's own folder in /proc, held open as long as the process lives: otherwise the kernel
 * may drop their inodes, which carry the rules, and create them again.
 */
function keepOwn(names: readonly string[]): string[] {
  const paths = names.map((file) => `/proc/${process.pid}/${file}`).filter((path) => existsSync(path));
  for (const path of paths) keepOpen(openSync(path, pathOnly));
  return paths;
}

/** Keeps a descriptor open across exec. */
function keepOpen(fd: number): void {
  kernelCall("fcntl", fd, setDescriptorFlags, 0);
}
