/**
 * The checks of a pipe by name, in the order in which they are made. Whoever creates a pipe stops at the first failure;
 * a report goes on with what does not depend on it. Both run the same code.
 */
import { AppError, type ErrorCode, errorCodes, type Issue } from "../../lib/errors.ts";

/** In the order of creating a pipe. Each kind of source has some of those after `table`. */
export const checkNames = [
  "definition",
  "service",
  "limits",
  "neighbours",
  "tableDefinition",
  "table",
  "mapping",
  "connection",
  "login",
  "topics",
  "stream",
  "bucket",
  "database",
  "cluster",
  "schemaRegistry",
  "format",
  "queue",
  "server",
  "replication",
  "tables",
  "publication",
  "slot",
  "targetTables",
  "samples",
] as const;
export type CheckName = (typeof checkNames)[number];

export type CheckOutcome = {
  readonly name: CheckName;
  readonly ok: boolean;
  readonly issues?: Issue[];
  readonly remedy?: string;
  /** Time taken, in milliseconds. */
  readonly ms: number;
};

export class CheckRun {
  readonly #goesOn: boolean;
  readonly #outcomes: CheckOutcome[] = [];
  /** The check that is being made: an interruption is its failure. */
  #current: { readonly name: CheckName; readonly began: number } | undefined;

  /** `goesOn`: a group that fails does not keep the next from being made. */
  constructor({ goesOn = false }: { readonly goesOn?: boolean } = {}) {
    this.#goesOn = goesOn;
  }

  get outcomes(): CheckOutcome[] {
    return [...this.#outcomes];
  }

  /** The check that is being made. */
  get current(): CheckName | undefined {
    return this.#current?.name;
  }

  /** Makes a check. Throws what the work throws. */
  async check<T>(name: CheckName, work: () => Promise<T> | T): Promise<T> {
    const began = this.#begin(name);
    try {
      const result = await work();
      this.#end(name, began);
      return result;
    } catch (error) {
      if (error instanceof AppError) this.#end(name, began, error);
      throw error;
    }
  }

  /** Makes a check that finds issues and lets the next one be made. */
  async look(name: CheckName, work: () => Promise<readonly Issue[]> | readonly Issue[]): Promise<readonly Issue[]> {
    const began = this.#begin(name);
    const issues = await work();
    const failure = new AppError("SOURCE_INVALID", "", { issues });
    this.#end(name, began, issues.length === 0 ? undefined : failure);
    return issues;
  }

  /**
   * Makes the first exchange with a source: one request whose error shows whether the connection, the login or the
   * thing asked for is at fault. Its time is that of the connection.
   */
  async reach<T>(thing: CheckName, work: () => Promise<T>): Promise<T> {
    const began = this.#begin("connection");
    const steps: readonly CheckName[] = ["connection", "login", thing];
    const passed = (until: number) => {
      for (const [at, name] of steps.slice(0, until).entries()) this.#end(name, at === 0 ? began : performance.now());
    };
    try {
      const result = await work();
      passed(steps.length);
      return result;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const at = faultOf(error);
      passed(at);
      this.#end(steps[at] as CheckName, at === 0 ? began : performance.now(), error);
      throw error;
    }
  }

  /**
   * Checks that depend on each other. Undefined when one failed and the run goes on. A failure between them is one of
   * the check `otherwise`.
   */
  async group<T>(otherwise: CheckName, work: () => Promise<T>): Promise<T | undefined> {
    const before = this.#failures();
    try {
      return await work();
    } catch (error) {
      if (!this.#goesOn || !(error instanceof AppError) || !isFinding(error.code)) throw error;
      if (this.#failures() === before) {
        const { name, began } = this.#current ?? { name: otherwise, began: performance.now() };
        this.#end(name, began, error);
      }
      return undefined;
    }
  }

  #failures(): number {
    return this.#outcomes.filter(({ ok }) => !ok).length;
  }

  #begin(name: CheckName): number {
    const began = performance.now();
    this.#current = { name, began };
    return began;
  }

  #end(name: CheckName, began: number, failure?: AppError): void {
    this.#current = undefined;
    const ms = Math.round(performance.now() - began);
    if (failure === undefined) return void this.#outcomes.push({ name, ok: true, ms });
    const { code, issues = [], message } = failure;
    const told = issues.length > 0 ? [...issues] : [{ path: "", message }];
    this.#outcomes.push({ name, ok: false, issues: told, remedy: errorCodes[code].help, ms });
  }
}

/** What says nothing about the definition is not an outcome of a check. */
function isFinding(code: ErrorCode): boolean {
  return code !== "TOO_MANY_REQUESTS" && code !== "INTERNAL";
}

const tlsMember = /\.(tlsHost|disableTls|caCertificate|skipCertVerification)$/;

/** The step that an error of the first exchange is about: 0 the connection, 1 the login, 2 the thing asked for. */
function faultOf({ code, issues = [] }: AppError): number {
  const path = issues[0]?.path ?? "";
  if (code === "SOURCE_UNAUTHORIZED") return 1;
  if (code === "SOURCE_INVALID") return tlsMember.test(path) ? 0 : 2;
  return code === "SOURCE_UNREACHABLE" && path.endsWith(".topics") ? 2 : 0;
}
