/** `millrace sql`: statements in a service, and a prompt for them. */
import type { Command } from "commander";
import { resolveServiceOrOnly, type ServiceObject } from "../client/resolve.ts";
import { CliError, usageError } from "../errors.ts";
import { durationMs, integerFlag, pairFlag, present, repeated } from "../flags.ts";
import type { Shell } from "../shell.ts";
import { type StatementOptions, streamStatement } from "../sql/run.ts";
import { statementsIn } from "../sql/statements.ts";

type SqlFlags = {
  readonly file?: string;
  readonly param?: readonly string[];
  readonly database?: string;
  readonly format?: string;
  readonly maxRows?: string;
  readonly wake?: boolean;
  readonly readOnly?: boolean;
  readonly timeout?: string;
};

const remarks = `
  millrace sql 'SELECT count() FROM events'             the only service there is
  millrace sql analytics 'SELECT {x:Int64}' --param x=1
  millrace sql analytics -f report.sql --format CSV > report.csv
  echo 'SELECT 1' | millrace sql analytics
  millrace sql analytics                                a prompt, on a terminal`;

/** Adds the arguments and flags of `sql`. */
export function addSql(command: Command, shell: Shell): void {
  command
    .argument("[service]", "Service; not needed if there is only one")
    .argument("[query]", "One or more statements, separated by semicolons")
    .option("-f, --file <file>", "File with statements; - is stdin")
    .option("--param <name=value>", "Value of a {name:Type} parameter, \\N for NULL; may be repeated", repeated)
    .option("--database <name>", "Database of names without one; default `default`")
    .option("--format <name>", "Any output format of ClickHouse; default: by -o")
    .option("--max-rows <n>", "Ends the result after this number of rows, to a block")
    .option("--read-only", "Refuses statements that write")
    .option("--no-wake", "Fails instead of waking a sleeping service")
    .option("--timeout <duration>", "Ends the query after this time, exit code 124")
    .addHelpText("after", remarks)
    .action(async (first: string | undefined, second: string | undefined, flags: SqlFlags) => {
      const { reference, query } = argumentsOf(first, second);
      const client = await shell.client();
      const service = await resolveServiceOrOnly(client, reference);
      const text = query ?? (flags.file === undefined ? undefined : await shell.read(flags.file));
      if (text === undefined && shell.isInteractive && shell.io.stdout.isTTY === true) {
        const { runPrompt } = await import("../sql/prompt.ts");
        return await runPrompt(shell, client, service, optionsOf(shell, service, flags, true));
      }
      await runAll(shell, service, text ?? (await shell.read("-")), flags);
    });
}

/** One argument with a space or a bracket is a query, otherwise the name of a service. */
function argumentsOf(first: string | undefined, second: string | undefined) {
  const isQuery = first !== undefined && second === undefined && /[\s(;]/.test(first);
  return isQuery ? { reference: undefined, query: first } : { reference: first, query: second };
}

async function runAll(shell: Shell, service: ServiceObject, text: string, flags: SqlFlags): Promise<void> {
  const statements = statementsIn(text);
  if (statements.length === 0) throw usageError("there is no statement");
  const options = optionsOf(shell, service, flags, false);
  const client = await shell.client();
  if (service.state === "idle" && options.wake === "auto") shell.say(`waking ${service.name}`);
  for (const [i, statement] of statements.entries()) {
    try {
      await streamStatement(shell, client, statement, options, shell.signal);
    } catch (error) {
      if (statements.length === 1 || !(error instanceof CliError)) throw error;
      throw new CliError(`statement ${i + 1} of ${statements.length}: ${error.message}`, error);
    }
  }
}

function optionsOf(shell: Shell, { id }: ServiceObject, flags: SqlFlags, forPeople: boolean): StatementOptions {
  const maxRows = integerFlag("--max-rows", flags.maxRows);
  const seconds = flags.timeout === undefined ? undefined : durationMs(flags.timeout, "--timeout") / 1000;
  return {
    serviceId: id,
    database: flags.database,
    format: flags.format ?? formatOf(shell, forPeople),
    params: Object.fromEntries((flags.param ?? []).map(parameterOf)),
    settings: present({
      max_result_rows: maxRows,
      result_overflow_mode: maxRows === undefined ? undefined : "break",
      max_execution_time: seconds,
    }),
    wake: flags.wake === false ? "never" : "auto",
    readonly: flags.readOnly === true,
  };
}

/** `\N` is NULL, as in the engine's own client. */
function parameterOf(text: string): [name: string, value: string | null] {
  const [name, value] = pairFlag("--param", text);
  return [name, value === "\\N" ? null : value];
}

/** The format of the engine for an output format. A result that is piped streams without limit. */
function formatOf(shell: Shell, forPeople: boolean): string {
  switch (shell.format) {
    case "json":
      return "JSON";
    case "ndjson":
      return "JSONEachRow";
    case "csv":
      return "CSVWithNames";
    case "wide":
      return "Vertical";
    case "table":
      return forPeople || shell.io.stdout.isTTY === true ? "PrettyCompactNoEscapesMonoBlock" : "TabSeparatedWithNames";
    default:
      throw usageError(
        `-o ${shell.format} is not a format of results`,
        "Use --format NAME for any format of ClickHouse.",
      );
  }
}
