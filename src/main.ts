/** The binary: parses the command line, installs signal handlers, and is the only place that exits the process. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { z } from "zod";
import { adoptBackups } from "./backups/adopt.ts";
import { restoreMetadata } from "./backups/disaster.ts";
import { BackupTarget, backupLocationOptions } from "./backups/storage/location.ts";
import {
  type Config,
  environmentName,
  flagName,
  loadConfig,
  type SettingOrigins,
  settingOrigins,
  settings,
} from "./config.ts";
import { describeError } from "./lib/errors.ts";
import { openLogger } from "./lib/logger.ts";
import { startApp } from "./processes/control-plane.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

// Files of this process and its children are accessible to their user alone.
process.umask(0o077);

const program = new Command("millrace").description("Self-hosted data service manager").version(version);
const serve = program.command("serve", { isDefault: true }).description("Runs the API, the services and the pipes");
addSettings(serve).action(async (flags: Record<string, string>) => await run(readConfig(flags), settingOrigins(flags)));

const restore = program
  .command("restore-metadata")
  .description("Restores metadata and services from the backup location into an empty --data-dir")
  .option("--name <name>", "Metadata backup to restore (default: the newest)");
addSettings(restore).action(async (flags: Record<string, string>) => {
  const config = readConfig(flags);
  const dataDir = resolve(config.dataDir);
  const backupLocation = new BackupTarget(backupLocationOptions(config, dataDir));
  const options = {
    backupLocation,
    dataDir,
    name: flags.name,
    tell: console.log,
    signal: new AbortController().signal,
  };
  await endWith(restoreMetadata(options));
});

const adopt = program
  .command("adopt-backups")
  .description(
    "Assigns backups of unknown organizations at the backup location to an organization of this installation; the server must be stopped",
  )
  .requiredOption("--organization <id>", "Organization that receives the backups");
addSettings(adopt).action(async (flags: Record<string, string>) => {
  const config = readConfig(flags);
  const dataDir = resolve(config.dataDir);
  const backupLocation = new BackupTarget(backupLocationOptions(config, dataDir));
  const organizationId = flags.organization ?? "";
  const signal = new AbortController().signal;
  await endWith(adoptBackups({ backupLocation, dataDir, organizationId, tell: console.log, signal }));
});

program
  .command("demo")
  .description("Runs the main workflow on real data, in a folder of its own that is removed afterwards")
  .option("--once", "Ends after the charts")
  .action(async ({ once = false }: { once?: boolean }) => {
    const { runDemo } = await import("./demo/main.ts");
    await endWith(runDemo({ once }));
  });

await program.parseAsync();

/** Exits the process when the work is done, and reports its error. */
async function endWith(work: Promise<void>): Promise<never> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined) console.error(`millrace: ${describeError(error)}`);
  process.exit(error === undefined ? 0 : 1);
}

function addSettings(command: Command): Command {
  for (const [name, schema] of Object.entries(settings)) {
    const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
    const fallback = value === undefined ? "" : ` (default: ${String(value)})`;
    const argument = typeof value === "boolean" ? "[value]" : "<value>";
    const help = `${schema.description ?? ""}${fallback} [env ${environmentName(name)}]`;
    command.option(`${flagName(name)} ${argument}`, help);
  }
  return command;
}

function readConfig(flags: Record<string, string>): Config {
  try {
    return loadConfig(flags);
  } catch (error) {
    console.error(`millrace: ${describeError(error)}`);
    process.exit(2);
  }
}

function isOurMistake(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

async function run(config: Config, origins: SettingOrigins): Promise<void> {
  const logger = await openLogger(config.logLevel, config.logFormat);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      logger.info({ signal }, "stopping; send the signal again to exit immediately");
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  try {
    const app = await startApp({ config, origins, logger, version, signal: stop.signal });
    console.log(`Millrace ${version} is ready: ${app.baseUrl}\nCredentials: ${app.credentialsFile}`);
    await app.stopped;
    process.exit(0);
  } catch (error) {
    // A bug needs its stack; an error that the operator can fix needs a sentence.
    if (isOurMistake(error)) logger.fatal({ err: error }, "cannot run");
    console.error(`millrace: ${describeError(error)}`);
    process.exit(1);
  }
}
