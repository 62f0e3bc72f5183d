/**
 * Landlock: a process permanently gives up rights for itself and all its children. It needs no privileges.
 * https://docs.kernel.org/userspace-api/landlock.html
 */
import { closeSync, constants, lstatSync, openSync, statSync } from "node:fs";
import { architecture, kernelCall } from "./kernel.ts";
import type { Rules } from "./rules.ts";

/** Rights on files, each with the version of Landlock that introduced it. */
const fileRights = {
  execute: [0, 1],
  writeFile: [1, 1],
  readFile: [2, 1],
  readDir: [3, 1],
  removeDir: [4, 1],
  removeFile: [5, 1],
  makeChar: [6, 1],
  makeDir: [7, 1],
  makeReg: [8, 1],
  makeSock: [9, 1],
  makeFifo: [10, 1],
  makeBlock: [11, 1],
  makeSym: [12, 1],
  refer: [13, 2],
  truncate: [14, 3],
  ioctlDev: [15, 5],
  resolveUnix: [16, 9],
} as const satisfies Record<string, readonly [bit: number, since: number]>;

type FileRight = keyof typeof fileRights;

const read: readonly FileRight[] = ["readFile", "readDir"];
const execute: readonly FileRight[] = ["readFile", "execute"];
const contents: readonly FileRight[] = [
  ...read,
  "writeFile",
  "truncate",
  "removeDir",
  "removeFile",
  "makeDir",
  "makeReg",
  "refer",
];
/**
 * Regular files and folders: a reader of such a folder can neither be redirected by a link nor blocked by a pipe. The
 * right to create block devices gives nothing, because that needs a capability. But the kernel refuses to move a folder
 * to where it gains a right: so no folder comes here out of one with links.
 */
const readWrite: readonly FileRight[] = [...contents, "makeBlock"];
const withLinks: readonly FileRight[] = [...contents, "makeSym"];
const withSockets: readonly FileRight[] = ["removeFile", "makeSock", "resolveUnix"];
/** The rights that apply to a file that is not a folder; the kernel refuses others in its rule. */
const ofFiles: readonly FileRight[] = ["execute", "writeFile", "readFile", "truncate", "ioctlDev"];

const bindTcp = 1n;
const connectTcp = 2n;
const tcpSince = 4;
const scopeAbstractSockets = 1n;
const scopeSignals = 2n;
const scopesSince = 6;

const pathBeneath = 1;
const netPort = 2;
const versionFlag = 1;
/** Flag of `open`: names a file without opening it. */
export const pathOnly = 0o10000000;

/** The version of the kernel's Landlock; 0 when it is missing, disabled or cannot be queried. */
export function landlockVersion(): number {
  if (architecture() === undefined) return 0;
  try {
    return kernelCall("landlock_create_ruleset", 0, 0, versionFlag);
  } catch {
    return 0;
  }
}

/** What the confinement lacks at this version, in words; empty when it is complete. */
export function missingAt(version: number): string[] {
  return [
    ...(version < 2 ? ["engines are not limited to their folders, which needs Linux 5.19"] : []),
    ...(version < 3 ? ["files outside can be cut off where file permissions allow it"] : []),
    ...(version < tcpSince ? ["connections are not limited to ports"] : []),
    ...(version < scopesSince ? ["abstract unix sockets of others can be reached"] : []),
  ];
}

/**
 * Confines the calling thread, and everything that it starts from now on. Needs PR_SET_NO_NEW_PRIVS. `version` is the
 * highest version to use. Throws when a writable folder is missing or a symbolic link, or the kernel refuses.
 */
export function restrictSelf(rules: Rules, version: number): void {
  const handled = bits(Object.keys(fileRights) as FileRight[], version);
  const ports = version < tcpSince ? 0n : bindTcp | (rules.connectPorts === "any" ? 0n : connectTcp);
  const scopes = version < scopesSince ? 0n : scopeAbstractSockets | scopeSignals;
  const attributes = longs(handled, ports, scopes);
  const size = version < tcpSince ? 8 : version < scopesSince ? 16 : 24;
  const ruleset = kernelCall("landlock_create_ruleset", attributes, size, 0);
  for (const path of rules.readWrite) allowWriting(ruleset, path, readWrite, version);
  for (const path of rules.withLinks) allowWriting(ruleset, path, withLinks, version);
  for (const path of rules.read) allowIfThere(ruleset, path, read, version);
  for (const path of rules.execute) allowIfThere(ruleset, path, execute, version);
  for (const path of rules.unixSockets) allowIfThere(ruleset, path, withSockets, version);
  if (version >= tcpSince) {
    for (const port of rules.bindPorts) allowPort(ruleset, bindTcp, port);
    if (rules.connectPorts !== "any") for (const port of rules.connectPorts) allowPort(ruleset, connectTcp, port);
  }
  kernelCall("landlock_restrict_self", ruleset, 0);
  closeSync(ruleset);
}

function allowWriting(ruleset: number, path: string, rights: readonly FileRight[], version: number): void {
  if (lstatSync(path).isSymbolicLink()) throw new Error(`${path} is a symbolic link`);
  allowBelow(ruleset, path, rights, version);
}

function allowIfThere(ruleset: number, path: string, rights: readonly FileRight[], version: number): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) allowBelow(ruleset, path, rights, version);
}

function allowBelow(ruleset: number, path: string, rights: readonly FileRight[], version: number): void {
  const fd = openSync(path, pathOnly | constants.O_RDONLY);
  const possible = statSync(path).isDirectory() ? rights : rights.filter((right) => ofFiles.includes(right));
  const allowed = bits(possible, version);
  // struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of descriptor.
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(allowed, 0);
  rule.writeInt32LE(fd, 8);
  if (allowed !== 0n) kernelCall("landlock_add_rule", ruleset, pathBeneath, rule, 0);
  closeSync(fd);
}

function allowPort(ruleset: number, right: bigint, port: number): void {
  kernelCall("landlock_add_rule", ruleset, netPort, longs(right, BigInt(port)), 0);
}

function bits(rights: readonly FileRight[], version: number): bigint {
  const known = rights.map((right) => fileRights[right]).filter(([, since]) => since <= version);
  return known.reduce((sum, [bit]) => sum | (1n << BigInt(bit)), 0n);
}

function longs(...values: readonly bigint[]): Buffer {
  const buffer = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) buffer.writeBigUInt64LE(value, 8 * index);
  return buffer;
}
