import { useSyncExternalStore } from "react";
import { serverNow } from "../api/server-time.ts";
import { durationText, relativeText } from "../lib/format.ts";
import { timeText, zoneText } from "../lib/zone.ts";

/** One timer for all ages of the page. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let second = Math.floor(Date.now() / 1000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  second = Math.floor(Date.now() / 1000);
  for (const listener of [...listeners]) listener();
}

/** The server's time; the component renders again every second. */
export function useServerNow(): number {
  useSyncExternalStore(subscribe, () => second);
  return serverNow();
}

type RelativeTimeProps = {
  /** ISO 8601, or milliseconds since 1970. */
  readonly at: string | number | undefined;
  /** What is shown without a time. */
  readonly none?: string;
};

/** An age such as `3 min ago`, with the exact time on hover. */
export function RelativeTime({ at, none = "–" }: RelativeTimeProps) {
  const now = useServerNow();
  if (at === undefined) return <span>{none}</span>;
  const time = typeof at === "number" ? at : Date.parse(at);
  return <Time time={time} text={relativeText(time, now)} />;
}

/** How long something lasts already, such as `3 min`, with the exact begin on hover; `since` in ISO 8601. */
export function Elapsed({ since }: { readonly since: string | undefined }) {
  const now = useServerNow();
  if (since === undefined) return <span>some time</span>;
  const time = Date.parse(since);
  return <Time time={time} text={durationText(Math.max(0, Math.floor((now - time) / 1000)))} />;
}

function Time({ time, text }: { readonly time: number; readonly text: string }) {
  return (
    <time dateTime={new Date(time).toISOString()} title={`${timeText(time)} ${zoneText(time)}`}>
      {text}
    </time>
  );
}
