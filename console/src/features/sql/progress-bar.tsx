import { useEffect, useState } from "react";
import type { RunState } from "../../grid/query-run.ts";
import { bytesText, counted, durationText, shortCountText } from "../../lib/format.ts";
import css from "./result.module.css";

/** What the engine has read so far. Shown after 200 ms, so that fast statements do not flicker. */
export function ProgressBar({ state: { progress, startedAt } }: { readonly state: RunState }) {
  const [now, setNow] = useState(startedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  const elapsed = now - startedAt;
  if (elapsed < 200) return <div className={css.progress} />;
  const share =
    progress === undefined || progress.totalRows === 0
      ? undefined
      : Math.min(1, progress.readRows / progress.totalRows);
  const rate = progress === undefined || progress.elapsedMs === 0 ? 0 : progress.readRows / (progress.elapsedMs / 1000);
  return (
    <div className={css.progress}>
      <progress aria-label="Rows read" {...(share === undefined ? {} : { value: share })} max={1} />
      <span className="numeric">
        {progress === undefined
          ? `Waiting, ${durationText(elapsed / 1000)}`
          : `${counted(progress.readRows, "row", shortCountText)}, ${bytesText(progress.readBytes)}, ${shortCountText(rate)} rows/s, ${durationText(elapsed / 1000)}`}
      </span>
    </div>
  );
}
