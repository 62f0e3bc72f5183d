/** Suggestions for an unknown name. */

/** Maximum number of names compared with an unknown one. */
const maxCandidates = 1000;

/**
 * Up to three candidates that begin with the name or differ from it by at most a third of its length in edits, nearest
 * first, ignoring case. Checks the first `maxCandidates`.
 */
export function nearMatches(name: string, candidates: readonly string[]): string[] {
  const wanted = name.slice(0, 64).toLowerCase();
  const head = wanted.split(".")[0] as string;
  const limit = Math.floor(wanted.length / 3);
  return candidates
    .slice(0, maxCandidates)
    .map((candidate) => {
      const text = candidate.slice(0, 100).toLowerCase();
      const begins = head.length > 1 && text.startsWith(head);
      return { candidate, distance: begins ? 0 : Math.min(edits(wanted, text, limit), edits(head, text, limit)) };
    })
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Number of edits from one text to the other, or a number above `limit` when there are more. */
function edits(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const fewest = Math.min(replace, (previous[j] as number) + 1, (row[j - 1] as number) + 1);
      row.push(fewest);
      if (fewest < least) least = fewest;
    }
    if (least > limit) return least;
    previous = row;
  }
  return previous[b.length] as number;
}
