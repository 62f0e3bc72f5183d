import { Pause, Play, RefreshCw } from "lucide-react";
import { queryClient } from "../api/queries.ts";
import { pausedStore } from "../api/refresh.ts";
import { durationText } from "../lib/format.ts";
import { useStore } from "../lib/store.ts";
import { IconButton } from "../parts/button.tsx";
import { useServerNow } from "../parts/relative-time.tsx";
import css from "./shell.module.css";

/** How old the page is, and a pause. */
export function RefreshState() {
  const paused = useStore(pausedStore);
  useServerNow();
  const at = oldestAnswer();
  const age = at === undefined ? undefined : Math.round((Date.now() - at) / 1000);
  const text = age === undefined ? "" : age < 1 ? "Updated now" : `Updated ${durationText(age)} ago`;
  return (
    <div className={`muted ${css.refresh}`}>
      <span className={css.age}>{paused ? "Paused" : text}</span>
      <IconButton
        small
        label={paused ? "Resume automatic refresh" : "Pause automatic refresh"}
        icon={paused ? Play : Pause}
        onClick={() => pausedStore.set(!paused)}
      />
      <IconButton small label="Refresh now (r)" icon={RefreshCw} onClick={refreshNow} />
    </div>
  );
}

/** Asks everything on the page again. */
export function refreshNow(): void {
  void queryClient.invalidateQueries();
}

/** The age of the page is that of its oldest answer among those that are asked again by themselves. */
function oldestAnswer(): number | undefined {
  const times = queryClient
    .getQueryCache()
    .findAll({ type: "active" })
    .filter((query) => query.state.dataUpdatedAt > 0 && query.observers.some(isPolled))
    .map((query) => query.state.dataUpdatedAt);
  return times.length === 0 ? undefined : Math.min(...times);
}

type Observer = ReturnType<ReturnType<typeof queryClient.getQueryCache>["findAll"]>[number]["observers"][number];

function isPolled(observer: Observer): boolean {
  const { refetchInterval } = observer.options;
  const interval =
    typeof refetchInterval === "function" ? refetchInterval(observer.getCurrentQuery()) : refetchInterval;
  // Slow ones are old by intention.
  return typeof interval === "number" && interval < 15_000;
}
