/**
 * A function that does the work at once, and not sooner than `everyMs` after the last time: calls until then are joined
 * into one. Whatever happens before a call is seen by work that begins after it.
 */
export function spaced(work: () => void, everyMs: number): () => void {
  let pause: NodeJS.Timeout | undefined;
  let isWanted = false;
  const act = () => {
    isWanted = false;
    pause = setTimeout(over, everyMs).unref();
    work();
  };
  const over = () => {
    pause = undefined;
    if (isWanted) act();
  };
  return () => {
    if (pause === undefined) act();
    else isWanted = true;
  };
}
