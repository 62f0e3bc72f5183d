/**
 * Runs at the same time that create the same object. Names need not be unique at the server: the oldest object of a
 * name stays, and every run decides by the same order.
 */
import { CliError, exitCodes } from "../errors.ts";
import { compareSpecs } from "./compare.ts";
import type { WantedObject } from "./files.ts";

type Created = { readonly id: string; readonly createdAt: string };

export type CreatedOnce<T> = {
  /** The object that stays. */
  readonly kept: T;
  /** What this run created; undefined when it was refused. */
  readonly own: T | undefined;
};

/**
 * Creates an object and looks for others of its name. A refusal counts as none when there is one: the other object may
 * hold what this one needs, such as the table or the port. Otherwise throws the refusal.
 */
export async function createOnce<T extends Created>(
  create: () => Promise<T>,
  namesakes: () => Promise<readonly T[]>,
): Promise<CreatedOnce<T>> {
  let refusal: unknown;
  const own = await create().catch((error: unknown) => {
    refusal = error;
    return undefined;
  });
  const others = await namesakes().catch((error: unknown) => {
    throw refusal ?? error;
  });
  const order = ({ createdAt, id }: Created) => `${createdAt} ${id}`;
  const [kept] = [...(own === undefined ? [] : [own]), ...others].toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  if (kept === undefined) throw refusal;
  return { kept, own };
}

/** Throws CONFLICT, exit code 7, when the object of the other run is not what this run wanted. */
export function requireSame({ spec }: WantedObject, twin: Readonly<Record<string, unknown>>): void {
  const { changes } = compareSpecs(spec, twin);
  if (changes.length === 0) return;
  throw new CliError("someone else created it at the same time, and it is different", {
    exitCode: exitCodes.conflict,
    code: "CONFLICT",
    issues: changes.map(({ path }) => ({ path, message: "is different" })),
    hint: "Apply again: the plan then shows the differences.",
    retryable: true,
  });
}
