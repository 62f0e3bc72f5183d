/** The prompt of `millrace sql`: statements over several lines, history, completion; Ctrl-C ends a query. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { makeFolder } from "../../lib/make-folder.ts";
import type { CliClient } from "../client/client.ts";
import type { ServiceObject } from "../client/resolve.ts";
import { errorText, toCliError } from "../errors.ts";
import { byteSize, count, printable } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { type QueryOutcome, type StatementOptions, streamStatement } from "./run.ts";
import { isComplete, statementsIn } from "./statements.ts";

const historySize = 1_000;

/** Runs until `exit`, `quit` or Ctrl-D. An error leaves the prompt open. */
export async function runPrompt(
  shell: Shell,
  client: CliClient,
  service: ServiceObject,
  options: StatementOptions,
): Promise<void> {
  const file = historyFile(shell);
  const words = completionWords(client, service.id);
  const reader = createInterface({
    input: shell.io.stdin,
    output: process.stderr,
    terminal: true,
    history: readHistory(file),
    historySize,
    completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
      words.then((known) => done(null, completed(known, line)));
    },
  });
  shell.say(`${service.name}, ${service.databaseVersion}. End a statement with ; and leave with Ctrl-D.`);
  const prompt = new Prompt(shell, client, reader, printable(service.name), options);
  reader.on("history", (history: string[]) => writeHistory(file, history));
  await prompt.run();
}

class Prompt {
  readonly #shell: Shell;
  readonly #client: CliClient;
  readonly #reader: Interface;
  readonly #name: string;
  #options: StatementOptions;
  #text = "";
  #running: AbortController | undefined;

  constructor(shell: Shell, client: CliClient, reader: Interface, name: string, options: StatementOptions) {
    this.#shell = shell;
    this.#client = client;
    this.#reader = reader;
    this.#name = name;
    this.#options = options;
  }

  async run(): Promise<void> {
    this.#reader.on("SIGINT", () => this.#interrupt());
    this.#ask();
    for await (const line of this.#reader) {
      if (this.#text === "" && /^\s*(exit|quit|\\q)\s*;?\s*$/i.test(line)) break;
      this.#text += `${line}\n`;
      if (this.#text.trim() === "") this.#text = "";
      else if (isComplete(this.#text)) await this.#execute();
      this.#ask();
    }
    this.#reader.close();
  }

  #ask(): void {
    this.#reader.setPrompt(this.#text === "" ? `${this.#name}> ` : `${" ".repeat(this.#name.length - 1)}-> `);
    this.#reader.prompt();
  }

  #interrupt(): void {
    if (this.#running !== undefined) {
      this.#running.abort(new Error("interrupted"));
      return;
    }
    this.#text = "";
    process.stderr.write("^C\n");
    this.#reader.write(null, { ctrl: true, name: "u" });
    this.#ask();
  }

  async #execute(): Promise<void> {
    const statements = statementsIn(this.#text);
    this.#text = "";
    for (const statement of statements) {
      const database = /^use\s+[`"]?([^\s`"]+)[`"]?$/i.exec(statement)?.[1];
      if (database !== undefined) this.#options = { ...this.#options, database };
      else if (!(await this.#one(statement))) return;
    }
  }

  /** False when the statement failed. */
  async #one(statement: string): Promise<boolean> {
    const started = performance.now();
    const running = new AbortController();
    this.#running = running;
    try {
      const outcome = await streamStatement(this.#shell, this.#client, statement, this.#options, running.signal);
      this.#shell.say(outcomeText(outcome, performance.now() - started));
      return true;
    } catch (error) {
      this.#shell.io.stderr.write(running.signal.aborted ? "cancelled\n" : errorText(toCliError(error)));
      return false;
    } finally {
      this.#running = undefined;
    }
  }
}

function outcomeText({ bytes, summary }: QueryOutcome, elapsedMs: number): string {
  const read = summary.read_rows === undefined ? "" : `, ${count(Number(summary.read_rows))} rows read`;
  const written = Number(summary.written_rows ?? 0) > 0 ? `, ${count(Number(summary.written_rows))} rows written` : "";
  const size = bytes === 0 ? "OK" : byteSize(bytes);
  return `${size}, ${(elapsedMs / 1000).toFixed(3)} s${read}${written}`;
}

/** Words of the engine and names of tables and columns; empty while nothing is known. */
async function completionWords(client: CliClient, serviceId: string): Promise<string[]> {
  try {
    const [words, tables] = await Promise.all([
      client.call("getCompletions", { params: { serviceId } }),
      client.call("listTables", { params: { serviceId }, query: { columns: "true" } }),
    ]);
    return [
      ...words.keywords,
      ...words.functions.map(({ name }) => name),
      ...words.formats.map(({ name }) => name),
      ...tables.tables.flatMap(({ database, name, columns = [] }) => [
        ...(database === "default" ? [name] : [`${database}.${name}`]),
        ...columns.map((column) => column.name),
      ]),
    ];
  } catch {
    return [];
  }
}

const maxCandidates = 50;

/** The known words that begin with the last word of the line, ignoring case. */
export function completed(known: readonly string[], line: string): [string[], string] {
  const word = /[\w.]*$/.exec(line)?.[0] ?? "";
  if (word === "") return [[], word];
  const begins = known.filter((one) => one.toLowerCase().startsWith(word.toLowerCase()));
  // The terminal would obey what others are named.
  const found = begins.filter((one) => printable(one) === one);
  return [[...new Set(found)].slice(0, maxCandidates), word];
}

function historyFile({ io: { env, home } }: Shell): string {
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "millrace", "sql_history");
}

function readHistory(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}

/** Statements may have secrets: the file is its owner's alone. */
function writeHistory(file: string, history: readonly string[]): void {
  makeFolder(dirname(file));
  writeFileSync(file, `${history.join("\n")}\n`, { mode: 0o600 });
}
