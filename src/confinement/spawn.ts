/** Starts confined children. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { availableGroups, enterGroup, type GroupLimits } from "./cgroups.ts";
import { guardChannel } from "./channel.ts";
import type { Launch } from "./launch.ts";
import type { ReadyLauncher } from "./ready-launcher.ts";
import type { Rules } from "./rules.ts";
import { sendLaunch, startLauncher } from "./start-launcher.ts";
import { confinementState } from "./state.ts";

export type ConfinedOptions = {
  /** As for `child_process.spawn`; a channel is `ipc` at index 3. */
  readonly stdio: Exclude<SpawnOptions["stdio"], undefined>;
  /** The whole environment of the program: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** A launcher that may be waiting already (default: one is started). */
  readonly readyLauncher?: ReadyLauncher | undefined;
  /** The control group of the child: its name, which no other child has at the time, and its limits. */
  readonly group?: GroupLimits & { readonly name: string };
  /** The highest version of Landlock to use, as on an older kernel (default: the kernel's). */
  readonly landlock?: number;
};

/**
 * Starts `command`, an absolute path, with exactly the access that `rules` name, for it and all that it starts.
 * Standard streams and the channel to this process work as without confinement. The child is killed when this process
 * ends, and when it sends a message that no child of ours sends. A child that cannot be confined exits with code 126
 * and the reason on its standard error; it never runs unconfined. Only where the platform has no confinement at all
 * (see `confinementState`) is the program started without.
 */
export function spawnConfined(
  command: string,
  args: readonly string[],
  rules: Rules,
  options: ConfinedOptions,
): ChildProcess {
  const { stdio, environment, readyLauncher, group } = options;
  if (confinementState().landlock === 0) return guarded(spawn(command, args, { stdio, env: environment }));
  const launch: Launch = {
    command,
    args,
    environment: { ...environment, ...channelOf(stdio) },
    rules,
    parent: process.pid,
    inherited: Array.isArray(stdio) ? stdio.flatMap((how, fd) => (fd > 2 && how !== "ignore" ? [fd] : [])) : [],
    landlock: options.landlock ?? Number.MAX_SAFE_INTEGER,
  };
  const launcher = readyLauncher?.take(stdio) ?? startLauncher(stdio);
  sendLaunch(launcher, launch);
  if (group !== undefined) enterGroup(launcher, availableGroups(), `millrace-${group.name}`, group);
  return guarded(launcher);
}

function guarded(child: ChildProcess): ChildProcess {
  guardChannel(child);
  return child;
}

/** The variable through which Node finds its channel. Node removes it from the launcher's environment. */
function channelOf(stdio: ConfinedOptions["stdio"]): Record<string, string> {
  const fd = Array.isArray(stdio) ? stdio.indexOf("ipc") : -1;
  return fd === -1 ? {} : { NODE_CHANNEL_FD: String(fd) };
}
