/** The binary: parses the command line, installs signal handlers, and is the only place that ends the process. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { z } from "zod";
import { startApp } from "./app.ts";
import { type Config, environmentName, loadConfig, settings } from "./config.ts";
import { describeError } from "./lib/errors.ts";
import { createLogger } from "./lib/logger.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const program = new Command("millrace").description("Self-hosted data service manager").version(version);
const serve = program.command("serve", { isDefault: true }).description("Runs the API, the services and the pipes");
for (const [name, schema] of Object.entries(settings)) {
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const fallback = schema instanceof z.ZodDefault ? ` (default: ${String(schema.def.defaultValue)})` : "";
  serve.option(`--${flag} <value>`, `${schema.description ?? ""}${fallback} [env ${environmentName(name)}]`);
}
serve.action(async (flags: Record<string, string>) => {
  let config: Config;
  try {
    config = loadConfig(flags);
  } catch (error) {
    console.error(`millrace: ${describeError(error)}`);
    process.exit(2);
  }
  await run(config);
});

await program.parseAsync();

async function run(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      logger.info({ signal }, "stopping; send the signal again to stop at once");
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  try {
    const app = await startApp({ config, logger, version, signal: stop.signal });
    console.log(`Millrace ${version} is ready: ${app.baseUrl}\nCredentials: ${app.credentialsFile}`);
    await app.stopped;
    process.exit(0);
  } catch (error) {
    logger.fatal({ err: error }, "cannot run");
    console.error(`millrace: ${describeError(error)}`);
    process.exit(1);
  }
}
