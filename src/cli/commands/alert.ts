/** `millrace alert`: lists and switches alerts, and creates those of states; `apply` makes alerts of any kind. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { findPipe, pick, resolveService } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addYesFlag, numberFlag, present } from "../flags.ts";
import { age, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { findWebhook } from "./webhook.ts";

type Alert = OperationResult<"listAlerts">["data"][number];

const nameOf = ({ name, id }: Alert) => name ?? id;

async function findAlert(shell: Shell, reference: string): Promise<Alert & { readonly name: string }> {
  const { data } = await shell.call("listAlerts", {});
  return pick(
    "alert",
    reference,
    data.map((alert) => ({ ...alert, name: nameOf(alert) })),
  );
}

/** Adds the verbs of `alert`. */
export function addAlert(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists alerts with their states")
    .action(async () => {
      await shell.printList(
        (await shell.call("listAlerts", {})).data,
        [
          { title: "NAME", value: nameOf },
          { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
          { title: "SINCE", value: ({ stateChangedAt }) => age(stateChangedAt), right: true },
          { title: "WATCHES", value: ({ source, metric }) => metric ?? source },
          { title: "IF", value: ({ thresholdType, threshold }) => `${thresholdType} ${threshold}` },
          { title: "EVERY", value: ({ interval }) => interval, right: true },
          { title: "ID", value: ({ id }) => id },
          { title: "MESSAGE", value: ({ stateMessage }) => stateMessage ?? "-" },
        ],
        "There is no alert. millrace alert create NAME --metric pipe_attention --above 1 --webhook WEBHOOK",
      );
    });
  addCreate(command, shell);
  command
    .command("evaluations <alert>")
    .description("Shows what the last evaluations of an alert found, newest first")
    .action(async (reference: string) => {
      const { id: alertId } = await findAlert(shell, reference);
      await shell.printList(
        (await shell.call("listAlertEvaluations", { params: { alertId } })).data,
        [
          { title: "WINDOW", value: ({ windowEnd }) => windowEnd },
          { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
          {
            title: "FIRES",
            value: ({ readings }) =>
              readings
                .filter(({ fires }) => fires)
                .map(readingText)
                .join(", "),
          },
          { title: "MESSAGE", value: ({ message }) => message ?? "-" },
        ],
        "It was not evaluated yet.",
      );
    });
  for (const [verb, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    command
      .command(`${verb} <alert>`)
      .description(enabled ? "Evaluates an alert again" : "Evaluates an alert no longer")
      .action(async (reference: string) => {
        const alert = await findAlert(shell, reference);
        const { data } = await shell.call("replaceAlert", {
          params: { alertId: alert.id },
          body: { ...alert, enabled } as never,
        });
        await shell.printDone(data, `${verb}d ${alert.name}`);
      });
  }
  addYesFlag(command.command("delete <alert>"))
    .description("Deletes an alert with its evaluations")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const { id: alertId, name } = await findAlert(shell, reference);
      await shell.confirm(`Alert ${name} will be deleted.`, { ...flags, word: name });
      await shell.call("deleteAlert", { params: { alertId } });
      shell.say(`deleted ${name}`);
    });
}

type Reading = OperationResult<"listAlertEvaluations">["data"][number]["readings"][number];

function readingText({ group, value, reason }: Reading): string {
  const what = group.length === 0 ? "" : `${group.join("/")} `;
  return `${what}${reason ?? value}`;
}

type CreateFlags = {
  readonly metric: string;
  readonly webhook: string;
  readonly above?: string;
  readonly below?: string;
  readonly every: string;
  readonly service?: string;
  readonly pipe?: string;
};

function addCreate(command: Command, shell: Shell): void {
  command
    .command("create <name>")
    .description("Creates an alert of states of services or pipes")
    .requiredOption(
      "--metric <metric>",
      "pipe_attention, pipe_lag_seconds, pipe_refused_rows, service_attention, backup_age_hours or disk_free_percent",
    )
    .requiredOption("--webhook <webhook>", "Where it is told")
    .option("--above <number>", "Fires from this value on")
    .option("--below <number>", "Fires below this value")
    .option("--every <interval>", "1m, 5m, 15m, 30m, 1h, 6h, 12h or 1d", "5m")
    .option("--service <service>", "Only this service, or its pipes")
    .option("--pipe <pipe>", "Only this pipe")
    .action(async (name: string, flags: CreateFlags) => {
      const client = await shell.client();
      const [threshold, thresholdType] = thresholdOf(flags);
      const { service, pipe } = flags;
      const body = present({
        ...{ name, source: "state", metric: flags.metric, threshold, thresholdType, interval: flags.every },
        channel: { type: "webhook", webhookId: (await findWebhook(shell, flags.webhook)).id },
        serviceId: service === undefined ? undefined : (await resolveService(client, service)).id,
        pipeId: pipe === undefined ? undefined : (await findPipe(client, pipe)).id,
      });
      const { data } = await client.call("createAlert", { body: body as never });
      await shell.printDone(data, `created ${name} (${data.id})`);
    });
}

function thresholdOf({ above, below }: CreateFlags): [threshold: number, type: "above" | "below"] {
  const text = above ?? below;
  if (text === undefined || (above !== undefined && below !== undefined)) {
    throw usageError("an alert needs either --above or --below");
  }
  const type = above === undefined ? "below" : "above";
  return [numberFlag(`--${type}`, text), type];
}
