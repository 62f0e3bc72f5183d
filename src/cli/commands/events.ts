/** `millrace events` and `millrace pipe events`: who did what, and what became of services and pipes. */
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { CliClient, OperationResult } from "../client/client.ts";
import { findPipe, resolveService } from "../client/resolve.ts";
import { integerFlag, momentMs, present } from "../flags.ts";
import { isForPeople, machineText } from "../output/format.ts";
import type { TableColumn } from "../output/table.ts";
import { age } from "../output/text.ts";
import type { Shell } from "../shell.ts";

type Activity = OperationResult<"listActivities">["activities"][number];

const columns: readonly TableColumn<Activity>[] = [
  { title: "TIME", value: ({ createdAt }) => createdAt },
  { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
  { title: "EVENT", value: ({ type }) => type },
  { title: "OBJECT", value: ({ objectType, objectName, objectId }) => `${objectType} ${objectName ?? objectId}` },
  { title: "ACTOR", value: ({ actorType, actorDetails }) => actorDetails ?? actorType },
  { title: "REASON", value: ({ reason, fields }) => reason ?? fields?.join(", ") },
];

type EventFlags = {
  readonly service?: string;
  readonly pipe?: string;
  readonly type?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly follow?: boolean;
};

/** Adds the flags of `events`. */
export function addEvents(command: Command, shell: Shell): void {
  command
    .option("--service <service>", "Only events of this service, its pipes and backups")
    .option("--pipe <pipe>", "Only events of this pipe");
  addEventFlags(command).action(async (flags: EventFlags) => await printEvents(shell, flags));
}

/** Adds `events` to the verbs of `pipe`. */
export function addPipeEvents(command: Command, shell: Shell): void {
  const verb = command.command("events <pipe>").description("Shows who changed a pipe, and changes of its state");
  addEventFlags(verb).action(async (pipe: string, flags: EventFlags) => await printEvents(shell, { ...flags, pipe }));
}

function addEventFlags(command: Command): Command {
  return command
    .option("--type <types>", "Only these types, separated by commas")
    .option("--since <time>", "Not before this time: 1h, 2d, or an ISO time")
    .option("--limit <n>", "Most events to show; default 100")
    .option("-f, --follow", "Shows new events until Ctrl-C, oldest first");
}

async function printEvents(shell: Shell, flags: EventFlags): Promise<void> {
  const client = await shell.client();
  const query = await queryOf(client, flags);
  const { activities } = await client.call("listActivities", { query });
  if (flags.follow === true) return await follow(shell, client, query, activities.toReversed());
  await shell.printList(activities, columns, "There is no event.");
}

async function queryOf(client: CliClient, flags: EventFlags) {
  const object =
    flags.pipe !== undefined
      ? (await findPipe(client, flags.pipe)).id
      : flags.service === undefined
        ? undefined
        : (await resolveService(client, flags.service)).id;
  const from = flags.since === undefined ? undefined : new Date(momentMs(flags.since, "--since")).toISOString();
  return present({ object, type: flags.type, from, limit: integerFlag("--limit", flags.limit) });
}

async function follow(shell: Shell, client: CliClient, query: object, first: readonly Activity[]): Promise<void> {
  const seen = new Set<string>();
  for (let next = first; ; ) {
    const fresh = next.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0) await show(shell, fresh, seen.size === fresh.length);
    await delay(1_000, undefined, { signal: shell.signal });
    next = (await client.call("listActivities", { query })).activities.toReversed();
  }
}

async function show(shell: Shell, activities: readonly Activity[], first: boolean): Promise<void> {
  if (!isForPeople(shell.format)) return await shell.write(await machineText(activities, "ndjson"));
  const lines = shell.table(activities, columns);
  await shell.draw(first ? lines : lines.slice(1));
}
