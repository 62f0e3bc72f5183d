/** Names that may have been meant by one that nobody knows. */

/** Names that are compared with one that is unknown. */
const maxCandidates = 1000;

/**
 * Up to three candidates that begin with the name or are within a third of its length of edits, nearest first; case
 * does not count. Looks at the first `maxCandidates`.
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

/** Edits from one text to the other, or some number above `limit` when there are more. */
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
