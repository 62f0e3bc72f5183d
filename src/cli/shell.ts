/** What every command is given: the client, the output in the chosen format, and the rules of talking to people. */
import type { CallInput, CliClient, OperationName, OperationResult } from "./client/client.ts";
import type { CredentialFlags } from "./credentials/find.ts";
import type { Surroundings } from "./environment.ts";
import { CliError, exitCodes, usageError } from "./errors.ts";
import { isForPeople, isNameOnly, machineText, type OutputFormat, outputFormat } from "./output/format.ts";
import { Progress } from "./output/progress.ts";
import { fieldLines, type TableColumn, tableLines } from "./output/table.ts";
import { harmless, printable, type Style } from "./output/text.ts";

/** The flags that every command accepts. */
export type GlobalFlags = CredentialFlags & {
  readonly output?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly debug?: boolean;
};

export type ShownField = readonly [name: string, value: unknown, style?: Style | undefined];

export class Shell {
  readonly io: Surroundings;
  flags: GlobalFlags = {};
  /** What to say about the server's side when Ctrl-C ends the command. */
  afterInterrupt: string | undefined;
  #client: CliClient | undefined;
  /** A character may be divided between two chunks. */
  readonly #decoder = new TextDecoder();

  constructor(io: Surroundings) {
    this.io = io;
  }

  get signal(): AbortSignal {
    return this.io.signal;
  }

  get format(): OutputFormat {
    return this.flags.json === true ? "json" : outputFormat(this.flags.output ?? "table");
  }

  /** The client of the credentials that were found. */
  async client(): Promise<CliClient> {
    if (this.#client === undefined) {
      const [{ CliClient }, { findCredentials }] = await Promise.all([
        import("./client/client.ts"),
        import("./credentials/find.ts"),
      ]);
      const found = findCredentials(this.flags, this.io);
      if (this.flags.debug === true) this.say(`server ${found.baseUrl}, key ${found.keyId}, from ${found.origin}`);
      this.#client = new CliClient(found, this.signal);
    }
    return this.#client;
  }

  /** The result of an operation. Throws a CliError for any other status than 2xx. */
  async call<Name extends OperationName>(name: Name, input: CallInput<Name>): Promise<OperationResult<Name>> {
    return await (await this.client()).call(name, input);
  }

  /** A line on stderr. */
  say(text: string): void {
    this.io.stderr.write(`${printable(text)}\n`);
  }

  /**
   * Text on stdout; waits for a slow reader. On a terminal, control characters are shown as escapes, and bytes are
   * UTF-8; elsewhere nothing is changed.
   */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.io.stdout.isTTY !== true) return await this.#send(text);
    await this.#send(harmless(typeof text === "string" ? text : this.#decoder.decode(text, { stream: true })));
  }

  /** Lines on stdout with colours of this program. What they say of others is `printable` already. */
  async draw(lines: readonly string[]): Promise<void> {
    await this.#send(`${lines.join("\n")}\n`);
  }

  async #send(text: string | Uint8Array): Promise<void> {
    if (!this.io.stdout.write(text)) await new Promise<void>((resolve) => this.io.stdout.once("drain", resolve));
  }

  /** A list: a table for people, otherwise exactly these objects. */
  async printList<Row>(rows: readonly Row[], columns: readonly TableColumn<Row>[], nothing: string): Promise<void> {
    if (!isForPeople(this.format)) return await this.write(await machineText(rows, this.format));
    if (rows.length === 0) return this.say(nothing);
    await this.draw(this.table(rows, columns));
  }

  /** One object: its fields for people, otherwise exactly this object. */
  async printOne(value: unknown, fields: readonly ShownField[]): Promise<void> {
    if (!isForPeople(this.format)) return await this.write(await machineText(value, this.format));
    await this.draw(fieldLines(fields, this.hasColor(this.io.stdout)));
  }

  /**
   * The outcome of a change: a sentence on stderr for people, otherwise the result on stdout. `changed` has name and
   * id, if the result has not.
   */
  async printDone(value: unknown, sentence: string, changed = value): Promise<void> {
    if (isForPeople(this.format)) this.say(sentence);
    else await this.write(await machineText(isNameOnly(this.format) ? changed : value, this.format));
  }

  table<Row>(rows: readonly Row[], columns: readonly TableColumn<Row>[]): string[] {
    const { stdout } = this.io;
    const width = stdout.isTTY === true && !this.isDumb ? stdout.columns : undefined;
    return tableLines(rows, columns, { color: this.hasColor(stdout), width, wide: this.format === "wide" });
  }

  progress(): Progress {
    return new Progress(this.io.stderr, this.io.stderr.isTTY === true && !this.isDumb);
  }

  get isDumb(): boolean {
    return this.io.env.TERM === "dumb";
  }

  /** NO_COLOR, FORCE_COLOR and TERM=dumb decide before the terminal does. */
  hasColor(stream: { readonly isTTY?: boolean | undefined }): boolean {
    const { env } = this.io;
    if (this.flags.color === false || env.NO_COLOR) return false;
    if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== "0";
    return stream.isTTY === true && !this.isDumb;
  }

  get isInteractive(): boolean {
    return this.io.stdin.isTTY === true && this.io.stderr.isTTY === true;
  }

  /** Asks on a terminal; elsewhere a missing `--yes` is a usage error. */
  async confirm(question: string, options: { yes?: boolean | undefined; word?: string }): Promise<void> {
    if (options.yes === true) return;
    if (!this.isInteractive) throw usageError(`${question} There is no terminal to ask on.`, "Add --yes.");
    const expected = options.word ?? "yes";
    const answer = await this.#ask(`${question} Type ${expected} to go on: `);
    if (answer.trim() !== expected) throw new CliError("not confirmed, nothing was changed");
  }

  async #ask(question: string): Promise<string> {
    const { createInterface } = await import("node:readline/promises");
    const asking = createInterface({ input: this.io.stdin, output: process.stderr });
    try {
      return await asking.question(printable(question), { signal: this.signal });
    } finally {
      asking.close();
    }
  }

  /** Text of a file, or of stdin for `-`. */
  async read(file: string): Promise<string> {
    if (file === "-") {
      if (this.io.stdin.isTTY === true) this.say("reading from the terminal until Ctrl-D");
      const chunks: Buffer[] = [];
      for await (const chunk of this.io.stdin) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks).toString("utf8");
    }
    const [{ readFileSync }, { resolve }] = await Promise.all([import("node:fs"), import("node:path")]);
    try {
      return readFileSync(resolve(this.io.cwd, file), "utf8");
    } catch (error) {
      throw usageError(`cannot read ${file}: ${(error as Error).message}`);
    }
  }

  /** A secret of a file or of stdin: its first line. */
  async secret(file: string): Promise<string> {
    return (await this.read(file)).split(/\r?\n/)[0] ?? "";
  }
}

/** Interruption by Ctrl-C. */
export function interrupted(afterwards: string | undefined): CliError {
  return new CliError(afterwards ?? "interrupted", { exitCode: exitCodes.interrupted, code: "INTERRUPTED" });
}
