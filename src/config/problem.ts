/** Why a setting cannot be read. */

/** The error of a text that cannot be parsed; undefined when it can. */
export function parsingProblem(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
