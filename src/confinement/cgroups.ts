/**
 * Control groups: a child gets a fair share of the processors and limits of memory and threads, where the system allows
 * groups below our own. Version 1 needs root; version 2 a group that is delegated to us, such as a systemd service with
 * Delegate=yes. https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export type GroupLimits = {
  /** Limit of the child's memory and page cache; above it the child is killed. Undefined: no limit. */
  readonly memoryBytes?: number;
  /** Limit of the child's processor time, in thousandths of a processor. Undefined: no limit. */
  readonly cpuMillicores?: number;
  /** Processes and threads. */
  readonly tasks: number;
};

/** Where groups are created: a folder per controller in version 1, one folder in version 2. */
export type Groups =
  | { readonly version: 1; readonly folders: Readonly<Partial<Record<Controller, string>>> }
  | { readonly version: 2; readonly folder: string };

type Controller = "cpu" | "memory" | "pids";
const controllers = ["cpu", "memory", "pids"] as const;

/** Every group has the same weight, and so has the control plane: the default, which is the weight of one thread. */
const weights = { 1: ["cpu.shares", "1024"], 2: ["cpu.weight", "100"] } as const;

let known: { readonly groups: Groups | undefined } | undefined;

/**
 * Determined once per process. Undefined where no groups may be created. In version 2, moves this process to a group of
 * its own.
 */
export function availableGroups(): Groups | undefined {
  known ??= { groups: findGroups() };
  return known.groups;
}

/**
 * Creates a group for the child, moves the child into it while it starts, and removes the group when the child has
 * ended. Limits are best effort: where no group can be created, the child runs without one.
 */
export function enterGroup(child: ChildProcess, groups: Groups | undefined, name: string, limits: GroupLimits): void {
  if (groups === undefined || child.pid === undefined) return;
  const killsBefore = memoryKills(groups, name);
  try {
    // Not awaited: the kernel takes some milliseconds, and so does the child until it begins its work.
    for (const file of makeGroup(groups, name, limits)) writeFile(file, String(child.pid)).catch(() => {});
  } catch {
    removeGroup(groups, name);
  }
  child.once("exit", () => {
    if (memoryKills(groups, name) > killsBefore) outOfMemory.add(child);
    removeGroup(groups, name);
  });
}

const outOfMemory = new WeakSet<ChildProcess>();

/** True for a child that has ended because it needed more memory than its group may have. */
export function wasOutOfMemory(child: ChildProcess): boolean {
  return outOfMemory.has(child);
}

/** How many processes the kernel has killed at the group's limit of memory; 0 where nobody knows. */
function memoryKills(groups: Groups, name: string): number {
  const [folder, file] =
    groups.version === 2 ? [groups.folder, "memory.events"] : [groups.folders.memory ?? "", "memory.oom_control"];
  try {
    return Number(/^oom_kill (\d+)/m.exec(readFileSync(join(folder, name, file), "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Creates the group, or reuses one left by an earlier run, and returns the files that take pids. */
function makeGroup(groups: Groups, name: string, limits: GroupLimits): string[] {
  if (groups.version === 2) return [makeFolder(join(groups.folder, name), settingsOf(2, controllers, limits))];
  return Object.entries(groups.folders).map(([controller, folder]) =>
    makeFolder(join(folder, name), settingsOf(1, [controller as Controller], limits)),
  );
}

function removeGroup(groups: Groups, name: string): void {
  const folders = groups.version === 2 ? [groups.folder] : Object.values(groups.folders);
  for (const folder of folders) {
    try {
      rmdirSync(join(folder, name));
    } catch {
      // Never created, or its last process has not been reaped yet: an empty group costs nothing and is reused.
    }
  }
}

function makeFolder(folder: string, settings: readonly Setting[]): string {
  mkdirSync(folder, { recursive: true });
  for (const [file, value] of settings) {
    // Not every kernel can limit processor time: only a limit that is wanted must be possible.
    if (/^(-1|max)/.test(value) && !existsSync(join(folder, file))) continue;
    writeFileSync(join(folder, file), value);
  }
  return join(folder, "cgroup.procs");
}

type Setting = readonly [file: string, value: string];

/** Length of the time slices in which a limit of processor time is applied, in microseconds: the kernel's default. */
const periodUs = 100_000;

function settingsOf(version: 1 | 2, of: readonly Controller[], limits: GroupLimits): Setting[] {
  const { memoryBytes, tasks, cpuMillicores } = limits;
  const memoryFile = version === 1 ? "memory.limit_in_bytes" : "memory.max";
  const none = version === 1 ? "-1" : "max";
  const all: Record<Controller, readonly Setting[]> = {
    cpu: [weights[version], quotaOf(version, cpuMillicores)],
    memory: [[memoryFile, memoryBytes === undefined ? none : String(memoryBytes)]],
    pids: [["pids.max", String(tasks)]],
  };
  return of.flatMap((controller) => all[controller]);
}

function quotaOf(version: 1 | 2, cpuMillicores: number | undefined): Setting {
  const quotaUs = cpuMillicores === undefined ? undefined : (cpuMillicores * periodUs) / 1000;
  if (version === 1) return ["cpu.cfs_quota_us", String(quotaUs ?? -1)];
  return ["cpu.max", `${quotaUs ?? "max"} ${periodUs}`];
}

function findGroups(): Groups | undefined {
  try {
    const own = ownGroups(readFileSync("/proc/self/cgroup", "utf8"), readFileSync("/proc/self/mountinfo", "utf8"));
    const folders = Object.fromEntries(
      controllers.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])),
    );
    if (Object.keys(folders).length > 0) return usable({ version: 1, folders });
    return own.unified === undefined ? undefined : usable(delegated(own.unified));
  } catch {
    return undefined;
  }
}

/** Tries it, because the permissions of this file system are not conclusive. */
function usable(groups: Groups | undefined): Groups | undefined {
  if (groups === undefined) return undefined;
  const name = `millrace-try-${process.pid}`;
  try {
    makeGroup(groups, name, { tasks: 1 });
    return groups;
  } catch {
    return undefined;
  } finally {
    removeGroup(groups, name);
  }
}

/**
 * In version 2 only groups without processes of their own have controllers for child groups. So this process moves to a
 * child group, if it is alone in its group.
 */
function delegated(folder: string): Groups | undefined {
  const has = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ");
  if (!controllers.every((name) => has.includes(name))) return undefined;
  const inside = readFileSync(join(folder, "cgroup.procs"), "utf8").trim().split("\n");
  if (inside.some((pid) => pid !== String(process.pid))) return undefined;
  const control = join(folder, "millrace-control");
  mkdirSync(control, { recursive: true });
  writeFileSync(join(control, "cgroup.procs"), "0");
  try {
    const subtree = controllers.map((name) => `+${name}`).join(" ");
    writeFileSync(join(folder, "cgroup.subtree_control"), subtree);
    return { version: 2, folder };
  } catch {
    writeFileSync(join(folder, "cgroup.procs"), "0");
    rmdirSync(control);
    return undefined;
  }
}

/**
 * Folders of the groups that contain a process, by controller, and of its version 2 group. Arguments are texts of
 * /proc.
 */
export function ownGroups(cgroup: string, mountinfo: string): Partial<Record<Controller | "unified", string>> {
  const own: Partial<Record<Controller | "unified", string>> = {};
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", mount = ""] = before.split(" ");
    const [type, , options = ""] = after.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") continue;
    for (const name of type === "cgroup2" ? (["unified"] as const) : controllers) {
      if (type === "cgroup" && !options.split(",").includes(name)) continue;
      const path = pathOf(cgroup, name);
      if (path === undefined || !path.startsWith(root)) continue;
      const folder = join(mount, path.slice(root === "/" ? 0 : root.length));
      if (existsSync(folder)) own[name] ??= folder;
    }
  }
  return own;
}

function pathOf(cgroup: string, name: Controller | "unified"): string | undefined {
  for (const line of cgroup.split("\n")) {
    const [, of = "", ...path] = line.split(":");
    if (name === "unified" ? of === "" : of.split(",").includes(name)) return path.join(":");
  }
  return undefined;
}
