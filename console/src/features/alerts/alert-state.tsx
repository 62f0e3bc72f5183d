import { BellRing, CircleAlert, CircleCheck, CircleSlash, type LucideIcon } from "lucide-react";
import { Badge, type Tone } from "../../parts/badge.tsx";
import type { AlertState } from "./alert.ts";

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
