/** Text of others within our own sentences: names, errors of servers, values of rows. */

const maxCharacters = 10_000;
/** Control characters, except tabs and ends of lines, and those that reverse the direction of the text after them. */
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The text, bounded, with a replacement character for each one that would steer a terminal or a log. */
export function publicText(text: string): string {
  const kept = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return kept.replaceAll(unseen, "\ufffd").toWellFormed();
}

/**
 * The text without the middle of long lines, and without its own when it is longer than `most`: an engine says what is
 * wrong at the beginning and where at the end, with the data in between.
 */
export function withoutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  return cut(
    text.replaceAll(/[^\n]+/g, (line) => cut(line, most / 4)),
    most,
  );
}

function cut(text: string, most: number): string {
  const half = Math.floor(most / 2);
  return text.length <= most ? text : `${text.slice(0, half)}…${text.slice(-half)}`;
}
