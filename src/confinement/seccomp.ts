/**
 * A filter of system calls for what Landlock cannot restrict: unix sockets by path (before its version 9), signals
 * (before its version 6), other namespaces, processes that would outlive this one, and parts of the kernel that no
 * child of ours needs.
 * https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
 */
import { type Architecture, kernelCall, placed } from "./kernel.ts";
import type { Rules } from "./rules.ts";

const columns = { x64: 0, arm64: 1 } as const;
const auditArchitecture = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/** Numbers of a system call on x64 and arm64; arm64 lacks some of them. */
type Numbers = readonly [x64: number, arm64?: number];

/** Refused with EPERM, whatever the arguments. */
const refused: Readonly<Record<string, Numbers>> = {
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  pidfd_send_signal: [424, 424],
  tkill: [200, 130],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  pidfd_open: [434, 434],
  process_mrelease: [448, 448],
  // Processes that would stay when this one is ended, and programs that no file holds, so that Landlock has no rule.
  fork: [57],
  vfork: [58],
  execveat: [322, 281],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  // Memory and queues that are shared by number or name.
  shmget: [29, 194],
  shmat: [30, 196],
  shmctl: [31, 195],
  msgget: [68, 186],
  msgsnd: [69, 189],
  msgrcv: [70, 188],
  msgctl: [71, 187],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  semctl: [66, 191],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  // It names the files that others create, in folders that Landlock does not let this process list.
  inotify_add_watch: [254, 27],
  // They can pass descriptors to the parent, whose Node aborts at some kinds. Plain messages are written, and names are
  // resolved without them: see `childEnvironment`.
  sendmsg: [46, 211],
  sendmmsg: [307, 269],
  // Owners and attributes of files: the kernel checks their owner, not Landlock.
  chown: [92],
  lchown: [94],
  fchown: [93, 55],
  fchownat: [260, 54],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  fremovexattr: [199, 16],
  setxattrat: [463, 463],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  // Other views of the machine.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // Large parts of the kernel that no child needs; io_uring would bypass this filter.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  fanotify_init: [300, 262],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // The machine itself.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
};

/**
 * Modes of files, by their path: nothing changes, and nothing fails. The engine makes the parts that it detaches
 * read-only.
 */
const modes: Readonly<Record<string, Numbers>> = { chmod: [90], fchmodat: [268, 53], fchmodat2: [452, 452] };

/** Calls that name a process: allowed for this process, and with 0 where the argument 0 means the caller itself. */
const selfOnly: Readonly<Record<string, { numbers: Numbers; argument: number; zero: boolean }>> = {
  kill: { numbers: [62, 129], argument: 0, zero: false },
  tgkill: { numbers: [234, 131], argument: 0, zero: false },
  prlimit64: { numbers: [302, 261], argument: 0, zero: true },
  setpriority: { numbers: [141, 140], argument: 1, zero: true },
  ioprio_set: { numbers: [251, 30], argument: 1, zero: true },
  sched_setaffinity: { numbers: [203, 122], argument: 0, zero: true },
  sched_setparam: { numbers: [142, 118], argument: 0, zero: true },
  sched_setscheduler: { numbers: [144, 119], argument: 0, zero: true },
  sched_setattr: { numbers: [314, 274], argument: 0, zero: true },
  migrate_pages: { numbers: [256, 238], argument: 0, zero: true },
  move_pages: { numbers: [279, 239], argument: 0, zero: true },
};

/**
 * Values of an argument that are refused: signals to a process that owns a descriptor, input to a terminal, and life
 * without the parent.
 */
const refusedValues: readonly { readonly numbers: Numbers; readonly argument: number; readonly values: number[] }[] = [
  // F_SETOWN, F_SETOWN_EX.
  { numbers: [72, 25], argument: 1, values: [8, 15] },
  // FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX.
  { numbers: [16, 29], argument: 1, values: [0x8901, 0x8902, 0x5412, 0x541c] },
  // PR_SET_PDEATHSIG.
  { numbers: [157, 167], argument: 0, values: [1] },
];

/** With MSG_FASTOPEN in its flags it connects, which Landlock does not check. */
const sendto = { numbers: [44, 206], argument: 3 } as const;
const fastOpen = 0x20000000;

const socket = [41, 198] as const;
const socketpair = [53, 199] as const;
const clone = [56, 220] as const;
const clone3 = [435, 435] as const;

/** CLONE_NEW*: namespaces of its own would give a process rights over parts of the kernel. */
const newNamespaces = 0x7e020000;
/** CLONE_THREAD: without it a clone is a process. */
const thread = 0x10000;
const unixFamily = 1;
const inetFamilies = [2, 10] as const;
const netlinkFamily = 16;
/** The protocol for addresses and routes, which name resolution queries. */
const netlinkRoute = 0;
const stream = 1;
const datagram = 2;
/**
 * TCP and UDP, or the type's default. Landlock's port rules apply to TCP alone, and not to its relatives such as MPTCP.
 */
const protocols = { [stream]: [0, 6], [datagram]: [0, 17] } as const;
/** The lower bits of a socket's type; the others are flags. */
const typeMask = 0xf;

const allow = 0x7fff0000;
const errno = (code: number) => 0x00050000 | code;
const refuse = errno(1);
/** The call succeeds and does nothing. */
const pretend = errno(0);
const noSuchCall = errno(38);
const badFamily = errno(97);

/** Offsets in struct seccomp_data. Only the lower half of an argument is checked, as in the kernel. */
const atNumber = 0;
const atArchitecture = 4;
const argument = (index: number) => 16 + 8 * index;

type Instruction = { readonly code: number; readonly yes: number; readonly no: number; readonly k: number };
const load = (k: number): Instruction => ({ code: 0x20, yes: 0, no: 0, k });
const and = (k: number): Instruction => ({ code: 0x54, yes: 0, no: 0, k });
const give = (k: number): Instruction => ({ code: 0x06, yes: 0, no: 0, k });
const equal = (k: number, yes: number, no: number): Instruction => ({ code: 0x15, yes, no, k });
const atLeast = (k: number, yes: number, no: number): Instruction => ({ code: 0x35, yes, no, k });

/** Returns `verdict` when the loaded value is, or is not, `value`. */
const ifEqual = (value: number, verdict: number) => [equal(value, 0, 1), give(verdict)];
const unlessEqual = (value: number, verdict: number) => [equal(value, 1, 0), give(verdict)];

/** The filter's instructions. `pid` is the process that may signal itself. */
export function filterOf(rules: Rules, arch: Architecture, pid: number): Buffer {
  const column = columns[arch];
  const call = (numbers: Numbers, body: readonly Instruction[]) => [
    equal(numbers[column] as number, 0, body.length + 1),
    ...body,
    give(allow),
  ];
  const program = [
    load(atArchitecture),
    ...unlessEqual(auditArchitecture[arch], refuse),
    load(atNumber),
    // The x32 interface of x64 has the same calls under other numbers.
    atLeast(0x40000000, 0, 1),
    give(noSuchCall),
    ...numbersOf(refused, column).flatMap((number) => ifEqual(number, refuse)),
    ...(rules.modes ? [] : numbersOf(modes, column).flatMap((number) => ifEqual(number, pretend))),
    ...ifEqual(clone3[column], noSuchCall),
    ...call(clone, [
      load(argument(0)),
      and(newNamespaces),
      ...unlessEqual(0, refuse),
      load(argument(0)),
      and(thread),
      ...ifEqual(0, refuse),
    ]),
    ...refusedValues.flatMap(({ numbers, argument: at, values }) =>
      call(numbers, [load(argument(at)), ...values.flatMap((value) => ifEqual(value, refuse))]),
    ),
    ...Object.values(selfOnly).flatMap(({ numbers, argument: at, zero }) =>
      call(numbers, [load(argument(at)), ...(zero ? [equal(0, 2, 0)] : []), ...unlessEqual(pid, refuse)]),
    ),
    ...call(sendto.numbers, [load(argument(sendto.argument)), and(fastOpen), ...unlessEqual(0, refuse)]),
    ...call(socket, socketChecks(rules)),
    ...call(socketpair, [load(argument(1)), and(typeMask), ...unlessEqual(stream, badFamily)]),
    give(allow),
  ];
  return encoded(program);
}

function numbersOf(calls: Readonly<Record<string, Numbers>>, column: 0 | 1): number[] {
  return Object.values(calls).flatMap((numbers) => numbers[column] ?? []);
}

/** Families by the rules, TCP, and UDP by the rules. */
function socketChecks({ unixSockets, datagrams }: Rules): Instruction[] {
  const types = datagrams ? ([stream, datagram] as const) : ([stream] as const);
  const ofType = (type: typeof stream | typeof datagram) => {
    const body = [
      load(argument(2)),
      ...protocols[type].flatMap((protocol) => ifEqual(protocol, allow)),
      give(badFamily),
    ];
    return [equal(type, 0, body.length), ...body];
  };
  const inet = [load(argument(1)), and(typeMask), ...types.flatMap(ofType), give(badFamily)];
  const netlink = [load(argument(2)), ...ifEqual(netlinkRoute, allow), give(badFamily)];
  return [
    load(argument(0)),
    ...(unixSockets.length === 0 ? [] : ifEqual(unixFamily, allow)),
    equal(netlinkFamily, 0, netlink.length),
    ...netlink,
    equal(inetFamilies[0], 2, 0),
    equal(inetFamilies[1], 1, 0),
    give(badFamily),
    ...inet,
  ];
}

function encoded(program: readonly Instruction[]): Buffer {
  const buffer = Buffer.alloc(8 * program.length);
  for (const [index, { code, yes, no, k }] of program.entries()) {
    buffer.writeUInt16LE(code, 8 * index);
    buffer.writeUInt8(yes, 8 * index + 2);
    buffer.writeUInt8(no, 8 * index + 3);
    buffer.writeUInt32LE(k >>> 0, 8 * index + 4);
  }
  return buffer;
}

/** Installs the filter for the calling thread and all that it starts. Needs PR_SET_NO_NEW_PRIVS. Throws KernelError. */
export function filterSelf(rules: Rules, arch: Architecture): void {
  const filter = filterOf(rules, arch, process.pid);
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(BigInt(placed(filter)), 8);
  const setModeFilter = 1;
  // Without this flag, kernels before 5.16 disable speculation for the process, which slows it down.
  const allowSpeculation = 4;
  kernelCall("seccomp", setModeFilter, allowSpeculation, program);
}
