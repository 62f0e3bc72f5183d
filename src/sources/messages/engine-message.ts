/** Parses the engine's messages about rows that it could not read. */

/** The row in a parser's message, from 1. Quoted data precedes it. */
export function rowOf(message: string): number | undefined {
  const row = [...message.matchAll(/\(at row (\d+)\)/g)].at(-1)?.[1];
  return row === undefined ? undefined : Number(row);
}

/**
 * The sentence without our statement, the row's number, and the engine's suffixes about the query and the file. These
 * all follow the quoted data, so the search starts at the end: a row's own text truncates nothing.
 */
export function shortMessage(message: string): string {
  const sentence = message
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/\s*\(version \d[^()]*(?:\([^()]*\)[^()]*)?\)\s*$/, "");
  const [atRow] = [...sentence.matchAll(/:? ?\(at row \d+\)/g)].slice(-1);
  return (
    sentence
      .slice(0, atRow?.index)
      // Our own search for what does not fit has asked so.
      .replace(/value of type Variant\((U?Int\d+)\) here/, "value of type $1 here")
      .replace(/ before: '(?:[^'\\]|\\.)*'/s, "")
      .replace(/:? ?\(Already have \d+ errors? out of \d+ rows[^)]*\)$/, "")
      .replace(/: ?\(in file\/uri (?:(?!\(in file\/uri)[\s\S])*$/, "")
      .replace(/:?\s*While executing \w+[^'"{}]*$/, "")
      .replace(/:?\s*While processing (?:(?!While processing)[\s\S])*$/, "")
      .slice(0, 1000)
  );
}
