/** The address at which other machines reach a listener of this one. */
import { networkInterfaces } from "node:os";
import { bracketed } from "../../lib/host-list.ts";

/** `host:port`. A host that stands for all addresses is replaced by the first one of this machine. */
export function reachableHost(host: string, port: number): string {
  const isAll = host === "0.0.0.0" || host === "::";
  const name = isAll ? firstAddress() : host;
  return `${bracketed(name)}:${port}`;
}

/** IPv4 before IPv6; loopback on a machine without a network. */
function firstAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const outer = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  return (outer.find(({ family }) => family === "IPv4") ?? outer[0])?.address ?? "127.0.0.1";
}
