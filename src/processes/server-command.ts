/** The commands that run or repair a server. `src/main.ts` loads them on demand. */
import { resolve } from "node:path";
import { Command, CommanderError } from "commander";
import { z } from "zod";
import { adoptBackups } from "../backups/adopt.ts";
import { restoreMetadata } from "../backups/disaster.ts";
import { BackupTarget, backupLocationOptions } from "../backups/storage/location.ts";
import {
  type Config,
  environmentName,
  flagName,
  loadConfig,
  misspelt,
  type SettingOrigins,
  settingOrigins,
  settings,
} from "../config.ts";
import { compileForChildren } from "../lib/compile-for-children.ts";
import { describeError } from "../lib/errors.ts";
import { openLogger } from "../lib/logger.ts";
import { serverCommands } from "../lib/server-commands.ts";
import { startApp } from "./control-plane.ts";
import type { NodeOptions } from "./node.ts";

/** Runs the command and returns its exit code, for `serve` when the server has stopped. */
export async function runServerCommand(argv: readonly string[], version: string): Promise<number> {
  let code = 0;
  const program = new Command("millrace").description("Self-hosted data service manager").version(version);
  const end = (found: number) => {
    code = found;
  };
  program.configureOutput({ outputError: (text, write) => write(inOurWords(text)) });
  addServe(program, version, end);
  addWorker(program, version, end);
  addRestoreMetadata(program, end);
  addAdoptBackups(program, end);
  addMoveStore(program, end);
  addDemo(program, end);
  for (const command of [program, ...program.commands]) command.exitOverride();
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // As for all other commands.
    return error.exitCode === 0 ? 0 : 2;
  }
  return code;
}

/** A usage error as those of all other commands. */
function inOurWords(text: string): string {
  return text.replace(/^error: /, "millrace: ").replace(/\n\((.*)\)\n$/, "\nhint: $1\n");
}

type SetCode = (code: number) => void;

function addServe(program: Command, version: string, end: SetCode): void {
  const serve = program.command("serve", { isDefault: true }).description(serverCommands.serve);
  runWithSettings(serve, end, (config, flags) => {
    return run(config, version, (options) => startServer(options, settingOrigins(flags)));
  });
}

/** Resolves when the server listens, with what resolves when it has stopped. */
async function startServer(options: NodeOptions, origins: SettingOrigins): Promise<{ stopped: Promise<void> }> {
  const { baseUrl, credentialsFile, stopped } = await startApp({ ...options, origins });
  console.log(`Millrace ${options.version} is ready: ${baseUrl}\nCredentials: ${credentialsFile}`);
  // Not a link that signs in: this output often ends up in a log file.
  console.log(`Console: ${baseUrl}/console/ (millrace console prints a link that signs you in)`);
  return { stopped };
}

function addWorker(program: Command, version: string, end: SetCode): void {
  const worker = program.command("worker").description(serverCommands.worker);
  runWithSettings(worker, end, async (config) => {
    const { startWorkerNode } = await import("./worker-node.ts");
    const start = async (options: NodeOptions) => {
      const { nodeId, stopped } = await startWorkerNode(options);
      console.log(`Millrace ${version} worker is ready: ${nodeId}`);
      return { stopped };
    };
    return run(config, version, start);
  });
}

function addRestoreMetadata(program: Command, end: SetCode): void {
  const restore = program
    .command("restore-metadata")
    .description(serverCommands["restore-metadata"])
    .option("--name <name>", "Metadata backup to restore (default: the newest)");
  runWithSettings(restore, end, (config, { name }: { name?: string }) => {
    return codeOf(restoreMetadata({ ...fromBackups(config), name }));
  });
}

function addAdoptBackups(program: Command, end: SetCode): void {
  const adopt = program
    .command("adopt-backups")
    .description(serverCommands["adopt-backups"])
    .requiredOption("--organization <id>", "Organization that receives the backups");
  runWithSettings(adopt, end, (config, { organization: organizationId = "" }: { organization?: string }) => {
    return codeOf(adoptBackups({ ...metadataOf(config), ...fromBackups(config), organizationId }));
  });
}

function addMoveStore(program: Command, end: SetCode): void {
  const move = program
    .command("move-store")
    .description(serverCommands["move-store"])
    .requiredOption("--to <place>", "URL of an empty Postgres database, or sqlite: the data directory")
    .option("--dry-run", "Copies and compares, and then takes the copy back");
  runWithSettings(move, end, async (config, { to, dryRun = false }: { to: string; dryRun?: boolean }) => {
    const { moveMetadata } = await import("../store/database/move-metadata.ts");
    return await codeOf(moveMetadata({ ...metadataOf(config), to, dryRun, tell: console.log }));
  });
}

function metadataOf({ dataDir, secretKey, database, allowAsyncReplication: allowsAsyncReplication }: Config) {
  return { dataDir: resolve(dataDir), secretKey, database, allowsAsyncReplication };
}

function fromBackups(config: Config) {
  const dataDir = resolve(config.dataDir);
  const backupLocation = new BackupTarget(backupLocationOptions(config, dataDir));
  return { dataDir, backupLocation, tell: console.log, signal: new AbortController().signal };
}

function addDemo(program: Command, end: SetCode): void {
  program
    .command("demo")
    .description(serverCommands.demo)
    .option("--once", "Ends after the charts")
    .option("--open", "Opens the console in the browser when the charts are drawn")
    .action(async ({ once = false, open = false }: { once?: boolean; open?: boolean }) => {
      const { runDemo } = await import("../demo/main.ts");
      end(await codeOf(runDemo({ once, open })));
    });
}

/** 0 when the work is done; 1 after its error is reported. */
async function codeOf(work: Promise<void>): Promise<number> {
  try {
    await work;
    return 0;
  } catch (error) {
    console.error(`millrace: ${describeError(error)}`);
    return 1;
  }
}

/** Gives the command the settings as options; `work` resolves with the exit code, which is 2 for wrong settings. */
function runWithSettings<F extends object>(
  command: Command,
  end: SetCode,
  work: (config: Config, flags: F & Record<string, string>) => Promise<number>,
): void {
  for (const [name, schema] of Object.entries(settings)) {
    const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
    const fallback = value === undefined ? "" : ` (default: ${String(value)})`;
    const argument = typeof value === "boolean" ? "[value]" : "<value>";
    const help = `${schema.description ?? ""}${fallback} [env ${environmentName(name)}]`;
    command.option(`${flagName(name)} ${argument}`, help);
  }
  command.action(async (flags: F & Record<string, string>) => {
    const config = readConfig(flags);
    end(config === undefined ? 2 : await work(config, flags));
  });
}

/** Undefined after the problems of the configuration are reported. */
function readConfig(flags: Record<string, string | boolean>): Config | undefined {
  try {
    for (const sentence of misspelt()) console.error(`millrace: ${sentence}`);
    return loadConfig(flags);
  } catch (error) {
    console.error(`millrace: ${describeError(error)}`);
    return undefined;
  }
}

function isOurMistake(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

type Start = (options: NodeOptions) => Promise<{ readonly stopped: Promise<void> }>;

/** Runs until a signal arrives, or until the process must stop. */
async function run(config: Config, version: string, start: Start): Promise<number> {
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
    let failure: Error | undefined;
    const end = (reason: Error) => {
      failure = reason;
      stop.abort(reason);
    };
    const { stopped } = await start({ config, logger, version, signal: stop.signal, stop: end });
    compileForChildren().catch((err: unknown) => logger.debug({ err }, "children compile their own code"));
    await stopped;
    if (failure !== undefined) throw failure;
    return 0;
  } catch (error) {
    // A bug needs its stack; an error that the operator can fix needs a sentence.
    if (isOurMistake(error)) logger.fatal({ err: error }, "cannot run");
    console.error(`millrace: ${describeError(error)}`);
    return 1;
  }
}
