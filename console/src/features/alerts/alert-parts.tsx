import { Link } from "@tanstack/react-router";
import { BellRing, CircleAlert, CircleCheck, CircleSlash, type LucideIcon } from "lucide-react";
import { defaultRange } from "../../charts/time-range.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { NavTabs } from "../../parts/tabs.tsx";
import type { AlertState } from "./alert.ts";
import type { Watched } from "./watched.ts";

type Look = { readonly tone: Tone; readonly Icon: LucideIcon; readonly word: string };

const looks: Readonly<Record<AlertState, Look>> = {
  ALERT: { tone: "bad", Icon: BellRing, word: "Alert" },
  OK: { tone: "ok", Icon: CircleCheck, word: "OK" },
  INSUFFICIENT_DATA: { tone: "warn", Icon: CircleAlert, word: "Insufficient data" },
  DISABLED: { tone: "neutral", Icon: CircleSlash, word: "Disabled" },
};

export function stateWord(state: AlertState): string {
  return looks[state].word;
}

/** The state of an alert, or of an evaluation. */
export function AlertStateBadge({ state }: { readonly state: AlertState }) {
  const { tone, Icon, word } = looks[state];
  return (
    <Badge tone={tone} icon={Icon}>
      {word}
    </Badge>
  );
}

/** The two lists of this area. */
export function AlertTabs() {
  return (
    <NavTabs
      label="Alerts"
      tabs={[
        { to: "/alerts", label: "Alerts" },
        { to: "/alerts/webhooks", label: "Webhooks" },
      ]}
    />
  );
}

/** What an alert watches, which leads to Explore. */
export function WatchedLink({ watched: { kind, name, chart } }: { readonly watched: Watched }) {
  const title = name ?? "–";
  return (
    <span className="stack">
      {chart === undefined ? (
        title
      ) : (
        <Link to="/explore" search={{ ...defaultRange, chart }}>
          {title}
        </Link>
      )}
      <span className="muted">{kind}</span>
    </span>
  );
}
