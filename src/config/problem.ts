/** Why settings are refused. */
import type { z } from "zod";

/** A check of zod, from a function that returns what is wrong, or undefined. */
export function refusing<T>(problemOf: (value: T) => string | undefined) {
  return (value: T, context: z.core.$RefinementCtx<T>): void => {
    const message = problemOf(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  };
}

/** The error of a text that cannot be parsed; undefined when it can. */
export function parsingProblem(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
