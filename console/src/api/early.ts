/** Answers that `public/start.js` has asked for before this program was loaded. */

/** Those that nobody has taken by then are older than an answer may be. */
const usableMs = 10_000;

/** The request for this path that runs already, or has an answer; once. Undefined if there is none. */
export function takeEarly(path: string): Promise<Response> | undefined {
  const { millraceEarly: answers } = globalThis as { millraceEarly?: Map<string, Promise<Response>> };
  const answer = performance.now() < usableMs ? answers?.get(path) : undefined;
  answers?.delete(path);
  return answer;
}
