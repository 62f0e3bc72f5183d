/** Which TCP connections belong to which process. Linux only. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The process and its descendants. Those that end meanwhile may be missing. */
export function processTree(pid: number): number[] {
  const children = orNothing(() => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")) ?? "";
  const pids = children.split(" ").filter((text) => text !== "");
  return [pid, ...pids.flatMap((child) => processTree(Number(child)))];
}

/** The local ports of IPv4 connections that the processes have open. */
export function portsOf(pids: readonly number[]): ReadonlySet<number> {
  return new Set(socketsOfAll(pids, ["tcp"]).map(({ port }) => port));
}

/** Where the processes accept connections. */
export function listenersOf(pids: readonly number[]): { readonly host: string; readonly port: number }[] {
  const listening = socketsOfAll(pids, ["tcp", "tcp6"]).filter(({ state }) => state === "0A");
  return listening.map(({ address, port }) => ({ host: address.length === 8 ? hostOf(address) : "::1", port }));
}

/** From the bytes of an IPv4 address, as a number of this machine. */
function hostOf(address: string): string {
  return [...Buffer.from(address, "hex")].reverse().join(".");
}

function socketsOfAll(pids: readonly number[], tables: readonly ("tcp" | "tcp6")[]) {
  const sockets = new Set(pids.flatMap(socketsOf));
  const lines = tables.flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").trim().split("\n").slice(1));
  return lines.flatMap((line) => {
    const [, local = "", , state = "", , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    return sockets.has(inode) ? [{ address, port: Number.parseInt(port, 16), state }] : [];
  });
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return (orNothing(() => readdirSync(folder)) ?? []).flatMap((file) => {
    const target = orNothing(() => readlinkSync(`${folder}/${file}`)) ?? "";
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}

function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // The process has ended.
    return undefined;
  }
}
