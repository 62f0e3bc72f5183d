/** What each kind of child may access, and why. Extend a child's access here. */
import { programFolders } from "../lib/program.ts";
import type { Rules } from "./rules.ts";

/** Shared libraries and where the dynamic loader finds them. */
const libraries = [
  "/lib",
  "/lib64",
  "/usr/lib",
  "/usr/lib64",
  "/usr/local/lib",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf.d",
];

/** The dynamic loaders: the kernel executes them to start Node. */
const loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/** Certificates of authorities, without the private keys stored beside them. */
const certificates = [
  "/etc/ssl/certs",
  "/etc/ssl/cert.pem",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls/certs",
  "/etc/pki/tls/cert.pem",
  "/etc/pki/tls/openssl.cnf",
  "/etc/pki/ca-trust/extracted",
  "/etc/ca-certificates/extracted",
  "/etc/crypto-policies",
  "/usr/share/ca-certificates",
  "/usr/local/share/ca-certificates",
];

const timeZones = ["/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo"];

/** What the C library reads to resolve the names of this machine, such as localhost. */
const localNames = ["/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf"];

/** What the C library reads to resolve any name. */
const nameResolution = [...localNames, "/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols"];

const devices = ["/dev/random", "/dev/urandom", "/dev/zero"];

/** Size and load of the machine. */
const machine = [
  "/proc/cpuinfo",
  "/proc/filesystems",
  "/proc/loadavg",
  "/proc/meminfo",
  "/proc/stat",
  "/proc/uptime",
  "/proc/version",
  "/proc/vmstat",
  "/proc/sys/kernel/osrelease",
  "/proc/sys/kernel/pid_max",
  "/proc/sys/kernel/threads-max",
  "/proc/sys/vm/max_map_count",
  "/proc/sys/vm/overcommit_memory",
  "/sys/devices/system/cpu",
  "/sys/devices/system/node",
  "/sys/fs/cgroup",
  "/sys/kernel/mm/transparent_hugepage",
];

/**
 * What a process may read of its own folder in /proc: neither its environment and memory, nor the sockets of the whole
 * machine in `net`, which name the addresses of engines. From `auxv` the engine learns where the kernel has put the
 * clock: without it, each look at the time is a system call, and reading 1,000 small objects made 155,000 of them.
 */
const ownFiles = ["auxv", "cgroup", "io", "limits", "maps", "mountinfo", "mounts", "stat", "statm", "status"];

/** The version of Linux 5.19. */
const engineLandlock = 2;

/** What each of our Node processes needs to start. No network. */
export const nodeRules: Rules = {
  readWrite: ["/dev/null"],
  withLinks: [],
  read: [...programFolders, ...libraries, ...certificates, ...timeZones, ...devices, ...machine],
  own: ownFiles,
  execute: loaders,
  connectPorts: [],
  bindPorts: [],
  unixSockets: [],
  datagrams: false,
  modes: false,
  terminal: false,
  leastLandlock: 1,
};

export type EngineAccess = {
  /** The service's data directory, in which the engine links databases to their files. It exists. */
  readonly dataDir: string;
  /** Other folders of this service alone: run directory, backup staging. They exist. */
  readonly folders: readonly string[];
  readonly connectPorts: readonly number[] | "any";
  readonly bindPorts: readonly number[];
};

/**
 * An engine host: whatever SQL makes it do stays in its service's own folders. It executes no program, opens no unix
 * socket, connects only to the given ports, and resolves names only while it may connect to any port.
 */
export function engineRules(access: EngineAccess): Rules {
  const { dataDir, folders, connectPorts, bindPorts } = access;
  const resolves = connectPorts === "any";
  return {
    ...nodeRules,
    readWrite: [...nodeRules.readWrite, ...folders],
    withLinks: [dataDir],
    // The engine resolves localhost for dictionaries over its own tables.
    read: [...nodeRules.read, ...(resolves ? nameResolution : localNames)],
    // The engine measures each of its threads at each query by a file of the thread. Without it a small query costs a
    // third more: 28 exceptions. The kernel has no rule for these files alone, so environment and sockets are in reach.
    own: [...ownFiles, "task"],
    connectPorts,
    bindPorts,
    datagrams: resolves,
    // See `src/engine/chdb/server.ts`.
    terminal: true,
    // It moves and links files between its folders, which version 1 always refuses.
    leastLandlock: engineLandlock,
  };
}

/**
 * A pipe worker: it parses what a foreign source sends, and holds that source's secrets. It writes no file and executes
 * no program. It connects to any port, because sources listen anywhere; allowed addresses are checked at name
 * resolution. It accepts no connections. `read`: what its environment and its settings name, such as certificates of
 * the operator, and credentials for a source that uses the machine's.
 */
export function pipeWorkerRules(read: readonly string[]): Rules {
  return {
    ...nodeRules,
    read: [...nodeRules.read, ...nameResolution, ...read],
    connectPorts: "any",
    datagrams: true,
  };
}
