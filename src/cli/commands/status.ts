/** `millrace status`: counts by state, and what needs attention. */
import type { Command } from "commander";
import type { CliClient } from "../client/client.ts";
import { listSummaries, type PipeSummary } from "../client/resolve.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import { isForPeople } from "../output/format.ts";
import { stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { lagText } from "./pipe-columns.ts";

type Attention = {
  readonly object: "service" | "pipe" | "backup";
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly reason: string | undefined;
  /** Of a pipe. */
  readonly serviceId?: string;
};

type Status = {
  readonly services: Readonly<Record<string, number>>;
  readonly pipes: Readonly<Record<string, number>>;
  readonly backups: Readonly<Record<string, number>>;
  readonly attention: readonly Attention[];
};

/** Adds the action of `status`. */
export function addStatus(command: Command, shell: Shell): void {
  command
    .option("--check", "Exit code 3 if something needs attention")
    .option("-w, --watch", "Repeats every 2 seconds until Ctrl-C")
    .action(async (flags: { check?: boolean; watch?: boolean }) => {
      if (flags.check === true && flags.watch === true) throw usageError("--check and --watch exclude one another");
      const client = await shell.client();
      if (flags.watch === true) {
        const { watch } = await import("../watch.ts");
        await watch(
          shell,
          () => readStatus(client),
          (status) => print(shell, status),
        );
        return;
      }
      const status = await readStatus(client);
      await print(shell, status);
      if (flags.check === true) refuseAttention(status);
    });
}

function refuseAttention({ attention }: Status): void {
  if (attention.length === 0) return;
  throw new CliError(`${attention.length} objects need attention`, {
    exitCode: exitCodes.failedState,
    code: "FAILED_STATE",
  });
}

/** Reads stored data alone: no service wakes. */
export async function readStatus(client: CliClient): Promise<Status> {
  const services = await client.call("listServices", {});
  const [pipes, backups] = await Promise.all([listSummaries(client), client.call("listAllBackups", {})]);
  const names = new Map(services.map(({ id, name }) => [id, name]));
  const newest = [...Map.groupBy(backups, ({ serviceId }) => serviceId).values()].map(([first]) => first);
  const attention: Attention[] = [
    ...services
      .filter(({ state, stateMessage }) => ["failed", "degraded"].includes(state) || stateMessage !== undefined)
      .map(({ id, name, state, stateMessage }) => ({
        object: "service" as const,
        name,
        id,
        state,
        reason: stateMessage,
      })),
    ...pipes
      .filter(({ state, lag }) => needsAttention(state) || (lag?.trend === "growing" && (lag.seconds ?? 0) > 60))
      .map((pipe) => ({
        object: "pipe" as const,
        name: pipe.name,
        id: pipe.id,
        state: pipe.state,
        reason: reasonOf(pipe),
        serviceId: pipe.serviceId,
      })),
    ...newest
      .filter((backup) => backup !== undefined && (backup.status === "error" || backup.verification === "failed"))
      .map((backup) => ({
        object: "backup" as const,
        name: `${names.get(backup?.serviceId ?? "") ?? backup?.serviceId}: ${backup?.backupName}`,
        id: backup?.id ?? "",
        state: backup?.status === "error" ? "error" : "failed",
        reason: backup?.status === "error" ? "the newest backup failed" : "the newest backup is damaged",
      })),
  ];
  return {
    services: countsOf(services.map(({ state }) => state)),
    pipes: countsOf(pipes.map(({ state }) => state)),
    backups: countsOf(backups.map(({ status }) => status)),
    attention,
  };
}

function reasonOf(pipe: PipeSummary): string | undefined {
  return pipe.stateMessage ?? pipe.lastError?.message ?? `the lag grows: ${lagText(pipe)}`;
}

function needsAttention(state: string): boolean {
  return ["Failed", "Degraded", "InternalError", "Unknown"].includes(state);
}

function countsOf(states: readonly string[]): Record<string, number> {
  const groups = Map.groupBy(states, (state) => state);
  return Object.fromEntries([...groups].map(([state, members]) => [state, members.length]));
}

async function print(shell: Shell, status: Status): Promise<void> {
  if (!isForPeople(shell.format)) return await shell.printOne(status, []);
  const line = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([state, n]) => `${n} ${state}`)
      .join(", ") || "none";
  await shell.printOne(status, [
    ["services", line(status.services)],
    ["pipes", line(status.pipes)],
    ["backups", line(status.backups)],
  ]);
  if (status.attention.length === 0) return shell.say("Nothing needs attention.");
  await shell.write("\n");
  await shell.printList(
    status.attention,
    [
      { title: "OBJECT", value: ({ object }) => object },
      { title: "NAME", value: ({ name }) => name },
      { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
      { title: "REASON", value: ({ reason }) => reason },
    ],
    "",
  );
}
