/** `millrace status`: counts by state, and what needs attention. */
import type { Command } from "commander";
import { alertFindings, type Finding, isOngoing, pipeFindings, serviceFindings } from "../../api/attention.ts";
import type { CliClient, OperationResult } from "../client/client.ts";
import { listSummaries, type PipeSummary, type ServiceObject } from "../client/resolve.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import { isForPeople } from "../output/format.ts";
import { span, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";

export type Attention = {
  readonly object: "service" | "pipe" | "backup" | "alert" | "token";
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly about: Finding["about"];
  readonly reason: string;
  /** Set for a pipe. */
  readonly serviceId?: string;
};

type AlertObject = OperationResult<"listAlerts">["data"][number];

type Status = {
  readonly services: Readonly<Record<string, number>>;
  readonly pipes: Readonly<Record<string, number>>;
  readonly backups: Readonly<Record<string, number>>;
  /** Null without an access token with which alerts can be read. */
  readonly alerts: Readonly<Record<string, number>> | null;
  readonly attention: readonly Attention[];
};

/** Adds the action of `status`. */
export function addStatus(command: Command, shell: Shell): void {
  command
    .option("--check", "Exit code 3 if something needs attention; rows that were refused earlier do not count")
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
  const ongoing = attention.filter(isOngoing).length;
  if (ongoing === 0) return;
  throw new CliError(`${ongoing} objects need attention`, {
    exitCode: exitCodes.failedState,
    code: "FAILED_STATE",
  });
}

/** Reads stored data alone: no service wakes. */
export async function readStatus(client: CliClient): Promise<Status> {
  const mayRead = client.credentials.accessToken !== undefined;
  const [services, pipes, backups, alerts] = await Promise.all([
    client.call("listServices", {}),
    listSummaries(client),
    client.call("listAllBackups", {}),
    mayRead ? client.call("listAlerts", {}).catch(refusalOf) : undefined,
  ]);
  const isRefused = alerts instanceof CliError;
  const known = isRefused ? undefined : alerts?.data;
  return {
    services: countsOf(services.map(({ state }) => state)),
    pipes: countsOf(pipes.map(({ state }) => state)),
    backups: countsOf(backups.map(({ status }) => status)),
    alerts: known === undefined ? null : countsOf(known.map(({ state }) => state)),
    attention: [
      ...services.flatMap((service) => serviceFindings(service).map((finding) => ofService(service, finding))),
      ...pipes.flatMap((pipe) => pipeFindings(pipe, span).map((finding) => ofPipe(pipe, finding))),
      ...(known ?? []).flatMap((alert) => alertFindings(alert).map((finding) => ofAlert(alert, finding))),
      ...(isRefused ? [ofToken(alerts)] : []),
    ],
  };
}

function ofService({ id, name, state, lastBackup }: ServiceObject, { about, sentence: reason }: Finding): Attention {
  if (about !== "backup" || lastBackup === undefined) return { object: "service", name, id, state, about, reason };
  const result = lastBackup.status === "error" ? "error" : "failed";
  const backup = { name: `${name}: ${lastBackup.name}`, id: lastBackup.id, state: result };
  return { object: "backup", ...backup, about, reason };
}

function ofPipe({ id, name, state, serviceId }: PipeSummary, { about, sentence: reason }: Finding): Attention {
  return { object: "pipe", name, id, state, about, reason, serviceId };
}

function ofAlert({ id, name, displayName, state }: AlertObject, { about, sentence: reason }: Finding): Attention {
  return { object: "alert", name: name ?? displayName ?? id, id, state, about, reason };
}

/** The error for credentials that may not do this. Throws every other one. */
function refusalOf(error: unknown): CliError {
  if (error instanceof CliError && error.exitCode === exitCodes.unauthorized) return error;
  throw error;
}

function ofToken({ message }: CliError): Attention {
  const reason = `Alerts cannot be read: ${message}`;
  return { object: "token", name: "access token", id: "", state: "refused", about: "state", reason };
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
    ["alerts", status.alerts === null ? "not read, which needs a valid access token" : line(status.alerts)],
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
