/** What a command sees of the process that runs it: streams, environment, folders. Tests give their own. */
import { homedir } from "node:os";

/** A stream that commands write to. */
export type Output = {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string | Uint8Array): boolean;
  once(event: "drain", listener: () => void): unknown;
};

export type Surroundings = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly version: string;
};

/** The surroundings of this process. */
export function ownSurroundings(signal: AbortSignal, version: string): Surroundings {
  const { stdout, stderr, stdin, env } = process;
  return { stdout, stderr, stdin, env, cwd: process.cwd(), home: homedir(), signal, version };
}
