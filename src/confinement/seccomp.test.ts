/** The filter's instructions, run by our own interpreter: both architectures are tested on either. */
import { describe, expect, test } from "vitest";
import { nodeRules } from "./process-rules.ts";
import type { Rules } from "./rules.ts";
import { filterOf } from "./seccomp.ts";

const pid = 4242;
const allowed = 0x7fff0000;
const notPermitted = 0x00050001;
const ignored = 0x00050000;
const noSuchCall = 0x00050026;
const badFamily = 0x00050061;

const machines = {
  x64: {
    audit: 0xc000003e,
    setpriority: 141,
    sendto: 44,
    socket: 41,
    socketpair: 53,
    kill: 62,
    ptrace: 101,
    clone: 56,
    chmod: 90,
    sendmsg: 46,
    sendmmsg: 307,
    prctl: 157,
    fcntl: 72,
    read: 0,
  },
  arm64: {
    audit: 0xc00000b7,
    setpriority: 140,
    sendto: 206,
    socket: 198,
    socketpair: 199,
    kill: 129,
    ptrace: 117,
    clone: 220,
    chmod: 53,
    sendmsg: 211,
    sendmmsg: 269,
    prctl: 167,
    fcntl: 25,
    read: 63,
  },
} as const;

/** The kernel's decision for the call. */
function verdict(filter: Buffer, audit: number, number: number, args: readonly number[]): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigInt64LE(BigInt(value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; ; at += 8) {
    const k = filter.readUInt32LE(at + 4);
    const [yes, no] = [8 * filter.readUInt8(at + 2), 8 * filter.readUInt8(at + 3)];
    const code = filter.readUInt16LE(at);
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) at += accumulator === k ? yes : no;
    else if (code === 0x35) at += accumulator >= k ? yes : no;
    else if (code === 0x06) return k;
    else throw new Error(`instruction ${code}`);
  }
}

describe.each(["x64", "arm64"] as const)("the filter on %s", (arch) => {
  const machine = machines[arch];
  const asked = (rules: Rules, number: number, ...args: number[]) =>
    verdict(filterOf(rules, arch, pid), machine.audit, number, args);
  const sockets = { ...nodeRules, unixSockets: ["/somewhere"], datagrams: true, modes: true };

  test("lets ordinary calls pass and refuses those to other processes and to the machine", () => {
    expect(asked(nodeRules, machine.read)).toBe(allowed);
    expect(asked(nodeRules, 9999)).toBe(allowed);
    expect(asked(nodeRules, machine.ptrace, 16, 1)).toBe(notPermitted);
    for (const number of [425, 428, 438, 442]) expect(asked(nodeRules, number)).toBe(notPermitted);
    expect(asked(nodeRules, 435)).toBe(noSuchCall);
    expect(asked(nodeRules, 0x40000000 + 41, 1, 1)).toBe(noSuchCall);
    expect(verdict(filterOf(nodeRules, arch, pid), 0x40000003, 4, [])).toBe(notPermitted);
  });

  test("lets a process signal itself only, and start threads but no namespaces", () => {
    expect(asked(nodeRules, machine.kill, pid, 9)).toBe(allowed);
    for (const other of [1, 0, -1, -pid]) expect(asked(nodeRules, machine.kill, other, 9)).toBe(notPermitted);
    for (const own of [0, pid]) expect(asked(nodeRules, machine.setpriority, 0, own, 5)).toBe(allowed);
    expect(asked(nodeRules, machine.setpriority, 0, 1, 5)).toBe(notPermitted);
    expect(asked(nodeRules, machine.clone, 0x3d0f00)).toBe(allowed);
    expect(asked(nodeRules, machine.clone, 0x3d0f00 | 0x10000000)).toBe(notPermitted);
    for (const process of [17, 0x4111]) expect(asked(nodeRules, machine.clone, process)).toBe(notPermitted);
  });

  test("gives out sockets by the rules", () => {
    const [unix, inet, inet6, netlink, packet] = [1, 2, 10, 16, 17] as const;
    const [stream, datagram, raw, flags] = [1, 2, 3, 0o2004000] as const;
    const [tcp, udp, sctp, mptcp] = [6, 17, 132, 262] as const;
    for (const protocol of [0, tcp]) expect(asked(nodeRules, machine.socket, inet, stream, protocol)).toBe(allowed);
    for (const protocol of [sctp, mptcp])
      expect(asked(sockets, machine.socket, inet, stream, protocol)).toBe(badFamily);
    expect(asked(sockets, machine.socket, inet6, datagram, udp)).toBe(allowed);
    expect(asked(sockets, machine.socket, inet6, datagram, tcp)).toBe(badFamily);
    for (const family of [inet, inet6]) {
      expect(asked(nodeRules, machine.socket, family, stream | flags)).toBe(allowed);
      expect(asked(nodeRules, machine.socket, family, datagram)).toBe(badFamily);
      expect(asked(sockets, machine.socket, family, datagram | flags)).toBe(allowed);
      expect(asked(sockets, machine.socket, family, raw)).toBe(badFamily);
    }
    expect(asked(nodeRules, machine.socket, unix, stream)).toBe(badFamily);
    expect(asked(sockets, machine.socket, unix, stream)).toBe(allowed);
    expect(asked(nodeRules, machine.socketpair, unix, stream | flags)).toBe(allowed);
    expect(asked(nodeRules, machine.socketpair, unix, datagram)).toBe(badFamily);
    expect(asked(nodeRules, machine.socket, netlink, raw, 0)).toBe(allowed);
    expect(asked(nodeRules, machine.socket, netlink, raw, 9)).toBe(badFamily);
    expect(asked(sockets, machine.socket, packet, raw)).toBe(badFamily);
  });

  test("passes no descriptor, and lets no process outlive its parent or have another signalled", () => {
    for (const number of [machine.sendmsg, machine.sendmmsg]) {
      for (const rules of [nodeRules, sockets]) expect(asked(rules, number, 3)).toBe(notPermitted);
    }
    const [setDeathSignal, setName] = [1, 15];
    expect(asked(nodeRules, machine.prctl, setDeathSignal)).toBe(notPermitted);
    expect(asked(nodeRules, machine.prctl, setName)).toBe(allowed);
    const [setFlags, setOwner] = [4, 8];
    expect(asked(nodeRules, machine.fcntl, 3, setOwner)).toBe(notPermitted);
    expect(asked(nodeRules, machine.fcntl, 3, setFlags)).toBe(allowed);
  });

  test("lets nothing connect by sending", () => {
    expect(asked(nodeRules, machine.sendto, 3, 0, 0, 0x4000)).toBe(allowed);
    expect(asked(nodeRules, machine.sendto, 3, 0, 0, 0x20004000)).toBe(notPermitted);
  });

  test("ignores changes of modes unless the rules allow them", () => {
    expect(asked(nodeRules, machine.chmod)).toBe(ignored);
    expect(asked(sockets, machine.chmod)).toBe(allowed);
  });
});
