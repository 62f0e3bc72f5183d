/** Runs commands inside the test's process, with their own streams, environment and home. */
import { PassThrough, Readable } from "node:stream";
import type { Output, Surroundings } from "../src/cli/environment.ts";
import { runCli } from "../src/cli/program.ts";

export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type CommandOptions = {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly home?: string;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  /** Called with everything that is written to stdout. */
  readonly onOutput?: (text: string) => void;
  /** The same of stderr. */
  readonly onError?: (text: string) => void;
  /** Streams are terminals of this width. */
  readonly terminal?: number;
};

/** Runs one command line. */
export async function runInside(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [stdout, stderr] = [
    collector(options.terminal, options.onOutput),
    collector(options.terminal, options.onError),
  ];
  const home = options.home ?? "/nonexistent";
  const surroundings: Surroundings = {
    stdout: stdout.output,
    stderr: stderr.output,
    stdin: options.stdin === undefined ? new PassThrough().end() : Readable.from([options.stdin]),
    env: options.env ?? {},
    cwd: options.cwd ?? "/nonexistent",
    home,
    signal: options.signal ?? new AbortController().signal,
    version: "0.0.0",
  };
  const code = await runCli(args, surroundings);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(
  columns: number | undefined,
  onOutput?: (text: string) => void,
): { output: Output; text: () => string } {
  const chunks: Buffer[] = [];
  return {
    output: {
      isTTY: columns !== undefined,
      columns,
      write: (text) => {
        chunks.push(Buffer.from(text));
        onOutput?.(Buffer.from(text).toString());
        return true;
      },
      once: () => undefined,
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}
