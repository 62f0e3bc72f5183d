/**
 * Confines its process and becomes the real program in it. Node loads this with `--require`, so it runs before the event
 * loop has turned and nothing is read from the channel to the parent, which the real program inherits unread.
 *
 * Another program is run, instead of the process confining itself and going on, because Landlock holds for the calling
 * thread: the threads of V8 and of Node that are there before the first line of JavaScript would stay free. Running a
 * program leaves only the calling thread.
 */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { architecture, kernelCall } from "../confinement/kernel.ts";
import { landlockVersion, restrictSelf } from "../confinement/landlock.ts";
import { type Launch, launchVariable } from "../confinement/launch.ts";
import { dieWithParent, dropCapabilities, forbidNewPrivileges } from "../confinement/privileges.ts";
import { filterSelf } from "../confinement/seccomp.ts";

/** include/uapi/linux/fcntl.h */
const setDescriptorFlags = 2;

/** Of 1000; the control plane has 0. */
const outOfMemoryScore = "300";

/** What shells answer when a program cannot be run. */
const cannotRun = 126;

try {
  // biome-ignore lint/style/noProcessEnv: what the parent tells this process, not configuration.
  launch(awaitLaunch(Number(process.env[launchVariable])));
} catch (error) {
  writeSync(2, `the process could not be confined: ${error instanceof Error ? error.message : error}\n`);
  process.exit(cannotRun);
}

/** Waits for the parent, which may have started this process long before it is needed. */
function awaitLaunch(fd: number): Launch {
  // The first call loads the library that makes them: done while nobody waits.
  landlockVersion();
  // The folder of compiled code is ours alone, and out of reach behind the wall.
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
  const own = keepOwnProcess();
  const version = Math.min(landlock, landlockVersion());
  if (version >= rules.leastLandlock) {
    restrictSelf({ ...rules, read: [...rules.read, own], execute: [...rules.execute, command] }, version);
  }
  filterSelf(rules, arch);
  for (const fd of inherited) keepOpen(fd);
  if (process.execve === undefined) throw new Error("this version of Node cannot run another program");
  process.execve(command, [command, ...args], environment);
}

/** Where memory ends for all, a child ends before the control plane does. */
function endFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", outOfMemoryScore);
  } catch {
    // It is higher already.
  }
}

/**
 * The process's own folder in /proc, held open as long as the process lives: the kernel may otherwise forget the folder's
 * inode, which carries the rule, and make it anew.
 */
function keepOwnProcess(): string {
  const path = `/proc/${process.pid}`;
  keepOpen(openSync(path, "r"));
  return path;
}

/** Lets a descriptor stay open in the program that is run. */
function keepOpen(fd: number): void {
  kernelCall("fcntl", fd, setDescriptorFlags, 0);
}
