/** `millrace doctor`: what is well, what is not, and what to do. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { CliClient, OperationResult } from "../client/client.ts";
import { bodyText } from "../client/http.ts";
import type { Check } from "../doctor/check.ts";
import { clockCheck } from "../doctor/clock.ts";
import { systemChecks } from "../doctor/system.ts";
import { CliError, exitCodes, toCliError } from "../errors.ts";
import { stateStyle } from "../output/text.ts";
import { masked } from "../secrets.ts";
import type { Shell } from "../shell.ts";
import { type Attention, readStatus } from "./status.ts";

/** Adds the flags of `doctor`. */
export function addDoctor(command: Command, shell: Shell): void {
  command
    .option("--bundle <file>", "Writes everything that was seen to this file, without secrets")
    .action(async (flags: { bundle?: string }) => {
      const seen: Record<string, unknown> = {};
      const checks = await examine(shell, seen);
      if (flags.bundle !== undefined) {
        const text = JSON.stringify(masked({ at: new Date().toISOString(), checks, ...seen }), null, 2);
        writeFileSync(resolve(shell.io.cwd, flags.bundle), `${text}\n`, { mode: 0o600 });
        shell.say(`written to ${flags.bundle}`);
      }
      await shell.printList(
        checks,
        [
          { title: "", value: ({ result }) => result, style: ({ result }) => stateStyle(result) },
          { title: "CHECK", value: ({ check }) => check },
          { title: "DETAIL", value: ({ detail }) => detail },
          { title: "REMEDY", value: ({ remedy }) => remedy },
        ],
        "",
      );
      const failed = checks.filter(({ result }) => result === "fail").length;
      if (failed > 0)
        throw new CliError(`${failed} of ${checks.length} checks failed`, {
          exitCode: exitCodes.failed,
          code: "DOCTOR",
        });
    });
}

/** A part that cannot be examined is a failed check, and the others go on. */
async function examine(shell: Shell, seen: Record<string, unknown>): Promise<Check[]> {
  const checks: Check[] = [nodeCheck()];
  const part = async (check: string, work: () => Promise<readonly Check[]>): Promise<void> => {
    try {
      checks.push(...(await work()));
    } catch (error) {
      if (shell.signal.aborted) throw error;
      const { code, message, hint } = toCliError(error);
      checks.push({ check, result: "fail", detail: `${code}: ${message}`, ...(hint ? { remedy: hint } : {}) });
    }
  };
  await part("server", async () => await reachChecks(shell, await shell.client(), seen));
  if (seen.me === undefined) return checks;
  const client = await shell.client();
  const me = seen.me as OperationResult<"getMe">;
  await part("system", async () => await serverChecks(client, me, seen));
  await part("objects", async () => await objectChecks(client, seen));
  return checks;
}

async function reachChecks(shell: Shell, client: CliClient, seen: Record<string, unknown>): Promise<Check[]> {
  const { baseUrl, keyId, origin } = client.credentials;
  const startedAt = Date.now();
  const response = await client.open("getMe", {});
  const answeredAt = Date.now();
  const { result: me } = JSON.parse(await bodyText(response)) as { result: OperationResult<"getMe"> };
  seen.me = me;
  return [
    { check: "credentials", result: "ok", detail: `${keyId} for ${baseUrl}, from ${origin}` },
    { check: "server", result: "ok", detail: `version ${me.version}, ${answeredAt - startedAt} ms away` },
    versionCheck(shell, me.version),
    clockCheck(response.headers.date, startedAt, answeredAt),
  ];
}

/** Older ones do not start this program. */
function nodeCheck(): Check {
  return { check: "node", result: "ok", detail: process.versions.node };
}

function versionCheck(shell: Shell, version: string): Check {
  const own = shell.io.version;
  if (own === version) return { check: "versions", result: "ok", detail: `this program is ${own} too` };
  const detail = `this program is ${own}, the server ${version}`;
  return { check: "versions", result: "warn", detail, remedy: "Install the same version of both." };
}

async function serverChecks(
  client: CliClient,
  { key }: OperationResult<"getMe">,
  seen: Record<string, unknown>,
): Promise<Check[]> {
  if (key.role !== "admin") {
    return [
      {
        check: "system",
        result: "warn",
        detail: `the key has the role ${key.role}`,
        remedy: "Use an admin key to see more.",
      },
    ];
  }
  const system = await client.call("getSystem", {});
  seen.system = system;
  return systemChecks(system, Date.now());
}

async function objectChecks(client: CliClient, seen: Record<string, unknown>): Promise<Check[]> {
  const status = await readStatus(client);
  seen.status = status;
  if (status.attention.length === 0) return [{ check: "objects", result: "ok", detail: "nothing needs attention" }];
  const checks = status.attention.map(async ({ object, name, id, state, about, reason, serviceId }) => ({
    check: `${object} ${name}`,
    result: ["failed", "Failed", "error"].includes(state) ? ("fail" as const) : ("warn" as const),
    detail: `${state}: ${reason}`,
    remedy:
      serviceId === undefined
        ? objectRemedy({ object, name, about })
        : pipeRemedy(name, about, await client.call("getPipe", { params: { serviceId, pipeId: id } })),
  }));
  return await Promise.all(checks);
}

/** The command for a service or backup that needs attention. */
export function objectRemedy({ object, name, about }: Pick<Attention, "object" | "name" | "about">): string {
  if (object === "token") return "millrace token create NAME --save";
  return about === "disk" ? `millrace ${object} update ${name} --disk GIB` : `millrace ${object} get ${name}`;
}

/** The command that helps with this finding. */
export function pipeRemedy(
  pipe: string,
  about: Attention["about"],
  { needsResync, needsSecrets }: Pick<OperationResult<"getPipe">, "needsResync" | "needsSecrets">,
): string {
  if (about === "refused") return `millrace pipe errors ${pipe}`;
  if (about === "lag")
    return `millrace pipe scale ${pipe} --replicas N, or look at its source: millrace pipe get ${pipe}`;
  if (needsSecrets !== undefined) return "millrace apply -f FILE --update-secrets";
  if (needsResync === undefined) return `millrace pipe get ${pipe}`;
  return ["millrace pipe resync", pipe, ...(needsResync.tables ?? []).map((table) => `--table ${table}`)].join(" ");
}
