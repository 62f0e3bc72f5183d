/** `millrace pipe errors`: refused rows by cause, one by one, replayed and discarded. */
import type { Command } from "commander";
import type { CliClient, OperationResult } from "../client/client.ts";
import { findPipe, type PipeSummary, pick } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addWaitFlags, addYesFlag, choiceFlag, integerFlag, momentMs, present } from "../flags.ts";
import type { TableColumn } from "../output/table.ts";
import { age, byteSize, count, span } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags, waitFor } from "../wait.ts";

type Group = OperationResult<"listPipeErrors">[number];
type Row = OperationResult<"listPipeErrorRows">["rows"][number];
type ErrorRequest = OperationResult<"replayPipeErrors">;

const groupColumns: readonly TableColumn<Group>[] = [
  { title: "GROUP", value: ({ id }) => id },
  { title: "ROWS", value: ({ rows }) => count(rows), right: true },
  { title: "REPLAYABLE", value: ({ replayableRows }) => count(replayableRows), right: true },
  { title: "FIRST", value: ({ firstAt }) => age(firstAt), right: true },
  { title: "LAST", value: ({ lastAt }) => age(lastAt), right: true },
  { title: "CAUSE", value: ({ shape }) => shape },
  { title: "EXAMPLE", value: ({ example }) => `${example.origin} ${example.position}: ${example.raw}` },
];

const rowColumns: readonly TableColumn<Row>[] = [
  { title: "TIME", value: ({ time }) => time },
  { title: "ORIGIN", value: ({ origin, position }) => `${origin} ${position}` },
  { title: "SIZE", value: ({ rawSizeBytes }) => byteSize(rawSizeBytes), right: true },
  { title: "MESSAGE", value: ({ message }) => message },
  { title: "RAW", value: ({ raw }) => raw },
  { title: "ID", value: ({ id }) => id, wide: true },
];

type ErrorFlags = WaitFlags & {
  readonly rows?: boolean;
  readonly replay?: boolean;
  readonly discard?: boolean;
  readonly requests?: boolean;
  readonly group?: string;
  readonly since?: string;
  readonly origin?: string;
  readonly state?: string;
  readonly limit?: string;
  readonly all?: boolean;
  readonly wake?: boolean;
  readonly yes?: boolean;
};

/** Adds `errors` and `batches`. */
export function addPipeErrors(command: Command, shell: Shell): void {
  const errors = command
    .command("errors <pipe>")
    .description("Shows why a pipe refused rows, by cause; replays them after a fix")
    .option("--rows", "Shows the rows themselves, newest first")
    .option("--replay", "Loads refused rows again through the present definition of the pipe")
    .option("--discard", "Deletes refused rows that are not in the table")
    .option("--requests", "Lists replays and discards")
    .option("--group <id>", "Only rows of this group, or a unique prefix of its id")
    .option("--since <time>", "Only rows refused since then: 1h, 2d, or an ISO time")
    .option("--origin <origin>", "Only rows of this partition, shard, object or table")
    .option("--all", "With --replay and --discard: every refused row")
    .option("--state <state>", "refused, replayed or all")
    .option("--limit <n>", "With --rows: most rows to show; default 100")
    .option("--wake", "Wakes a sleeping service");
  addWaitFlags(addYesFlag(errors), "the replay or discard is finished").action(
    async (reference: string, flags: ErrorFlags) => await run(shell, reference, flags),
  );
  command
    .command("batches <pipe>")
    .description("Lists what a pipe wrote, newest first")
    .option("--limit <n>", "Most batches to show; default 100")
    .action(async (reference: string, flags: { limit?: string }) => {
      const client = await shell.client();
      const { id: pipeId, serviceId } = await findPipe(client, reference);
      const query = present({ limit: integerFlag("--limit", flags.limit) });
      const { batches } = await client.call("listPipeBatches", { params: { serviceId, pipeId }, query });
      await shell.printList(
        batches,
        [
          { title: "FINISHED", value: ({ finishedAt }) => finishedAt },
          { title: "LANE", value: ({ lane }) => lane },
          { title: "ROWS", value: ({ rows }) => count(rows), right: true },
          { title: "BYTES", value: ({ bytes }) => byteSize(bytes), right: true },
          { title: "REFUSED", value: ({ refusedRows }) => count(refusedRows), right: true },
          { title: "TOOK", value: ({ durationMs }) => `${durationMs} ms`, right: true },
          { title: "ID", value: ({ id }) => id },
        ],
        "There is no batch.",
      );
    });
}

async function run(shell: Shell, reference: string, flags: ErrorFlags): Promise<void> {
  checkWait(flags);
  if (flags.replay === true && flags.discard === true) throw usageError("--replay and --discard exclude one another");
  const client = await shell.client();
  const pipe = await findPipe(client, reference);
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  if (flags.requests === true) return await showRequests(shell, await client.call("listPipeErrorRequests", { params }));
  const state = choiceFlag("--state", flags.state, ["refused", "replayed", "all"]);
  const wake = flags.wake === true ? ("auto" as const) : undefined;
  const reading = present({ ...timesOf(flags), state, wake });
  const groups = async () => await client.call("listPipeErrors", { params, query: reading });
  const group = flags.group === undefined ? undefined : await findGroup(flags.group, groups);
  if (flags.replay === true || flags.discard === true) return await request(shell, client, pipe, flags, group);
  if (flags.rows !== true && group === undefined) {
    const { stateMessage } = pipe;
    const reason = stateMessage === undefined ? "" : ` It is ${pipe.state} for another reason: ${stateMessage}`;
    const nothing = `No refused rows of ${pipe.name} in the 7 days that are kept.${reason}`;
    return await shell.printList(await groups(), groupColumns, nothing);
  }
  const query = present({ ...reading, group: group?.id, limit: integerFlag("--limit", flags.limit) });
  const { rows } = await client.call("listPipeErrorRows", { params, query });
  await shell.printList(rows, rowColumns, `No refused rows of ${pipe.name}.`);
}

function timesOf({ since, origin }: ErrorFlags) {
  return present({
    from: since === undefined ? undefined : new Date(momentMs(since, "--since")).toISOString(),
    origin,
  });
}

async function findGroup(reference: string, groups: () => Promise<Group[]>): Promise<Group> {
  return pick(
    "group",
    reference,
    (await groups()).map((group) => ({ ...group, name: group.shape })),
  );
}

async function request(
  shell: Shell,
  client: CliClient,
  pipe: PipeSummary,
  flags: ErrorFlags,
  group: Group | undefined,
): Promise<void> {
  const times = timesOf(flags);
  if (group === undefined && Object.keys(times).length === 0 && flags.all !== true) {
    throw usageError("name the rows", "Use --group, --since, --origin, or --all.");
  }
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  const all = flags.all === true ? { from: new Date(0).toISOString() } : {};
  const selection = present({ ...all, ...times, group: group?.id });
  let asked: ErrorRequest;
  if (flags.discard === true) {
    await shell.confirm(`Refused rows of ${pipe.name} will be deleted.`, { yes: flags.yes });
    asked = await client.call("discardPipeErrors", { params, query: selection });
  } else asked = await client.call("replayPipeErrors", { params, body: selection });
  const last = flags.wait === true ? await awaitRequest(shell, pipe, asked, flags) : asked;
  await shell.printDone(last, requestText(last));
}

function requestText({ kind, state, selectedRows, replayedRows, refusedRows, reason }: ErrorRequest): string {
  const parts = [
    selectedRows === undefined ? undefined : `${count(selectedRows)} rows`,
    replayedRows === undefined ? undefined : `${count(replayedRows)} loaded`,
    refusedRows === undefined ? undefined : `${count(refusedRows)} refused again`,
    reason,
  ].filter((part) => part !== undefined);
  return `${kind} ${state}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}

async function awaitRequest(
  shell: Shell,
  { id: pipeId, serviceId }: PipeSummary,
  asked: ErrorRequest,
  flags: WaitFlags,
): Promise<ErrorRequest> {
  return await waitFor(shell, flags, {
    what: `the ${asked.kind}`,
    poll: async () => {
      const requests = await shell.call("listPipeErrorRequests", { params: { serviceId, pipeId } });
      return requests.find(({ id }) => id === asked.id) ?? asked;
    },
    verdict: ({ state }) => (state === "done" ? "done" : state === "failed" ? "failed" : "pending"),
    line: (now, { elapsedMs }) => `${requestText(now)} ${span(elapsedMs / 1000)}`,
    key: ({ state }) => state,
    reason: ({ reason }) => reason,
    goesOn: `the ${asked.kind} goes on at the server`,
  });
}

async function showRequests(shell: Shell, requests: readonly ErrorRequest[]): Promise<void> {
  await shell.printList(
    requests,
    [
      { title: "KIND", value: ({ kind }) => kind },
      { title: "STATE", value: ({ state }) => state },
      { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
      { title: "BY", value: ({ requestedBy }) => requestedBy },
      { title: "ROWS", value: ({ selectedRows }) => count(selectedRows), right: true },
      { title: "LOADED", value: ({ replayedRows }) => count(replayedRows), right: true },
      { title: "REFUSED AGAIN", value: ({ refusedRows }) => count(refusedRows), right: true },
      { title: "REASON", value: ({ reason }) => reason },
    ],
    "There is no replay or discard.",
  );
}
