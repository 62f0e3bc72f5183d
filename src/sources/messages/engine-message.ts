/** Reading the engine's sentences about rows that it could not parse. */

/** The row that a parser complains about, from 1. What it quotes from the data stands before that. */
export function rowOf(message: string): number | undefined {
  const row = [...message.matchAll(/\(at row (\d+)\)/g)].at(-1)?.[1];
  return row === undefined ? undefined : Number(row);
}

/**
 * The sentence without our statement, the row's number, and what the engine repeats about the query and the file. All of
 * that stands behind what is quoted from the data, so it is looked for from the end: a row's own text cuts nothing off.
 */
export function shortMessage(message: string): string {
  const sentence = message
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/\s*\(version \d[^()]*(?:\([^()]*\)[^()]*)?\)\s*$/, "");
  const [atRow] = [...sentence.matchAll(/:? ?\(at row \d+\)/g)].slice(-1);
  return sentence
    .slice(0, atRow?.index)
    .replace(/ before: '(?:[^'\\]|\\.)*'/s, "")
    .replace(/:? ?\(Already have \d+ errors? out of \d+ rows[^)]*\)$/, "")
    .replace(/: ?\(in file\/uri (?:(?!\(in file\/uri)[\s\S])*$/, "")
    .replace(/:?\s*While executing \w+[^'"{}]*$/, "")
    .replace(/:?\s*While processing (?:(?!While processing)[\s\S])*$/, "")
    .slice(0, 1000);
}
