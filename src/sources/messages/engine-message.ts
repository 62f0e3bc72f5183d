/** Reading the engine's sentences about rows that it could not parse. */

/** The row that a parser complains about, from 1. What it quotes from the data stands before that. */
export function rowOf(message: string): number | undefined {
  const row = [...message.matchAll(/\(at row (\d+)\)/g)].at(-1)?.[1];
  return row === undefined ? undefined : Number(row);
}

/** The sentence without our statement, the row's number and the data behind the row. */
export function shortMessage(message: string): string {
  return message
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/ before: '(?:[^'\\]|\\.)*'/s, "")
    .replace(/:? ?\(Already have \d+ errors?.*?rows\)/s, "")
    .replace(/:? ?\(at row \d+\)[\s\S]*$/, "")
    .replace(/:?\s*While (?:executing|processing)[\s\S]*$/, "")
    .replace(/\s*\(version [\s\S]*$/, "")
    .slice(0, 1000);
}
