/** `millrace service move`: an embedded service becomes external. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { resolveService } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addWaitFlags, addYesFlag, present } from "../flags.ts";
import { advance } from "../output/progress.ts";
import { byteSize, count, span } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags, waitFor } from "../wait.ts";
import { addConnectionFlags, type ConnectionFlags, externalBody } from "./service-external.ts";

type MoveFlags = ConnectionFlags &
  WaitFlags & {
    readonly to?: string;
    readonly passwordFile?: string;
    readonly leaveBehind?: boolean;
    readonly plan?: boolean;
    readonly cancel?: boolean;
    readonly status?: boolean;
    readonly yes?: boolean;
  };
type Move = OperationResult<"getServiceMove">;

/** Adds `move`. */
export function addMove(command: Command, shell: Shell): void {
  const move = addConnectionFlags(command.command("move <service>"))
    .description("Moves a service with its data, pipes and users to a ClickHouse server that exists")
    .option("--to <service>", "`external`, with --external, or an external service whose server is used")
    .option("--password-file <file>", "With --external: file with the server's password; - reads stdin")
    .option("--leave-behind", "Moves the rest if some objects cannot be moved")
    .option("--plan", "Only says what would be moved and what not")
    .option("--status", "Shows the newest move")
    .option("--cancel", "Cancels the move in progress");
  addWaitFlags(addYesFlag(move), "the service is moved").action(
    async (reference: string, flags: MoveFlags) => await run(shell, reference, flags),
  );
}

async function run(shell: Shell, reference: string, flags: MoveFlags): Promise<void> {
  checkWait(flags);
  const client = await shell.client();
  const { id: serviceId, name } = await resolveService(client, reference);
  const params = { serviceId };
  if (flags.status === true) return await printMove(shell, await client.call("getServiceMove", { params }));
  if (flags.cancel === true) {
    const cancelled = await client.call("cancelServiceMove", { params });
    return await shell.printDone(cancelled, `the move of ${name} is being cancelled`);
  }
  const body = await targetOf(shell, flags);
  await showPlan(shell, serviceId, body);
  if (flags.plan === true) return;
  await shell.confirm(`Service ${name} will be moved; it is stopped for a moment at the end.`, { yes: flags.yes });
  const leaveBehind = present({ leaveBehind: flags.leaveBehind });
  const move = await client.call("moveService", { params, body: { ...body, ...leaveBehind } });
  const last = flags.wait === true ? await awaitMove(shell, name, move, flags) : move;
  await shell.printDone(last, `move of ${name}: ${last.status}`);
}

async function targetOf(shell: Shell, flags: MoveFlags) {
  const external = await externalBody(shell, flags, flags.passwordFile);
  if (external !== undefined) {
    if (flags.to !== undefined && flags.to !== "external") throw usageError("--external requires --to external");
    return { connection: external.connection };
  }
  if (flags.to === undefined || flags.to === "external") {
    throw usageError(
      "name the server",
      "--to external --external URL --user NAME --password-file FILE, or --to SERVICE",
    );
  }
  const client = await shell.client();
  return { targetServiceId: (await resolveService(client, flags.to)).id };
}

type Target = Awaited<ReturnType<typeof targetOf>>;

/** Says on stderr what the move takes along; problems are for the server to refuse. */
async function showPlan(shell: Shell, serviceId: string, body: Target): Promise<void> {
  const plan = await shell.call("planServiceMove", { params: { serviceId }, body });
  shell.say(`moves ${count(plan.objects.length)} objects, ${count(plan.totalRows)} rows, ${byteSize(plan.totalBytes)}`);
  for (const { object, message } of plan.leftBehind) shell.say(`cannot be moved: ${object}: ${message}`);
  for (const { object, message } of plan.problems) shell.say(`problem: ${object ?? "the server"}: ${message}`);
}

async function awaitMove(shell: Shell, name: string, { serviceId }: Move, flags: WaitFlags): Promise<Move> {
  return await waitFor(shell, flags, {
    what: `the move of ${name}`,
    poll: () => shell.call("getServiceMove", { params: { serviceId } }),
    verdict: ({ status }) => (status === "completed" ? "done" : status === "cancelled" ? "failed" : "pending"),
    line: ({ status, progress: { copiedBytes, totalBytes }, message }, at) => {
      const trouble = message === undefined ? "" : `; ${message}`;
      return `${name}: ${status} ${advance(copiedBytes, totalBytes || undefined, at, byteSize)}${trouble}`;
    },
    key: ({ status, message }) => `${status} ${message ?? ""}`,
    reason: ({ message }) => message,
    goesOn: "the move goes on",
  });
}

async function printMove(shell: Shell, move: Move): Promise<void> {
  const { copiedRows, totalRows, copiedBytes, totalBytes, secondsLeft } = move.progress;
  await shell.printOne(move, [
    ["status", move.cancelRequested && move.finishedAt === undefined ? `${move.status}, to be cancelled` : move.status],
    ["message", move.message],
    ["rows", `${count(copiedRows)} of ${count(totalRows)}`],
    ["bytes", `${byteSize(copiedBytes)} of ${byteSize(totalBytes)}`],
    ["left", secondsLeft === undefined ? undefined : span(secondsLeft)],
    ["old side", move.oldServiceId],
  ]);
}
