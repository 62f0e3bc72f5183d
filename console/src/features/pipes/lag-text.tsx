import { Minus, TrendingDown, TrendingUp } from "lucide-react";
import { bytesText, counted, durationText, shortCountText } from "../../lib/format.ts";
import type { PipeSummary } from "./list-search.ts";
import css from "./pipes.module.css";

type Lag = NonNullable<PipeSummary["lag"]>;

/** What is less behind needs nobody: each batch that is being loaded is a distance that grows. */
const longSeconds = 60;

export function isLong(seconds = longSeconds): boolean {
  return seconds >= longSeconds;
}

/** How far the pipe is behind: seconds first, then what is known instead of them. */
export function lagText({ seconds, rows, files, bytes }: Lag): string | undefined {
  if (seconds !== undefined) return durationText(seconds);
  if (rows !== undefined) return counted(rows, "row", shortCountText);
  if (files !== undefined) return counted(files, "object", shortCountText);
  return bytes === undefined ? undefined : bytesText(bytes);
}

/** Everything that is known about the lag, in one line. */
export function lagDetails({ seconds, rows, files, bytes, etaSeconds, trend }: Lag): string {
  const parts = [
    rows === undefined ? [] : counted(rows, "row", shortCountText),
    files === undefined ? [] : counted(files, "object", shortCountText),
    bytes === undefined ? [] : bytesText(bytes),
    etaSeconds === undefined || !isLong(seconds) ? [] : `caught up in ${durationText(etaSeconds)}`,
    trend === "growing" && isLong(seconds) ? "growing" : [],
  ];
  return parts.flat().join(" · ");
}

const trends = {
  growing: { Icon: TrendingUp, word: "growing", tone: "bad" },
  steady: { Icon: Minus, word: "steady", tone: "neutral" },
  shrinking: { Icon: TrendingDown, word: "shrinking", tone: "ok" },
};

/** The lag with the direction in which it moves; nothing where it is not known. */
export function LagText({ lag }: { readonly lag: Lag | undefined }) {
  const text = lag === undefined ? undefined : lagText(lag);
  if (lag === undefined || text === undefined) return <span>–</span>;
  return (
    <span className={css.lag} title={lagDetails(lag)}>
      {text}
      <LagTrend lag={lag} />
    </span>
  );
}

export function LagTrend({ lag }: { readonly lag: Lag | undefined }) {
  // A lag of nothing has no direction.
  if (lag?.trend === undefined || lag.seconds === 0) return null;
  const { Icon, word, tone } = trends[lag.trend];
  return (
    <Icon
      className="toned"
      data-tone={isLong(lag.seconds) ? tone : "neutral"}
      role="img"
      aria-label={word}
      aria-hidden={false}
    />
  );
}
