/** States of services, pipes and backups, each with a word, a tone and an icon. */
import {
  CircleAlert,
  CircleCheck,
  CirclePause,
  CircleSlash,
  CircleX,
  LoaderCircle,
  type LucideIcon,
  Moon,
} from "lucide-react";
import type { ReactNode } from "react";
import { capitalized, inWords } from "../lib/format.ts";
import { Badge, type Tone } from "./badge.tsx";

type Look = { readonly tone: Tone; readonly Icon: LucideIcon; readonly turning?: true };

const well: Look = { tone: "ok", Icon: CircleCheck };
const changing: Look = { tone: "info", Icon: LoaderCircle, turning: true };
const resting: Look = { tone: "neutral", Icon: CircleSlash };
const failed: Look = { tone: "bad", Icon: CircleX };
const doubtful: Look = { tone: "warn", Icon: CircleAlert };

const looks: Readonly<Record<string, Look>> = {
  running: well,
  completed: well,
  done: well,
  passed: well,
  enabled: well,
  idle: { tone: "neutral", Icon: Moon },
  stopped: resting,
  disabled: resting,
  paused: { tone: "neutral", Icon: CirclePause },
  degraded: doubtful,
  unknown: doubtful,
  pending: doubtful,
  failed,
  error: failed,
  internalerror: failed,
};

/** How a state is shown; states that are not known are under way. */
export function lookOf(state: string): Look {
  return looks[state.toLowerCase()] ?? changing;
}

/** The state as a word that begins with a capital. */
export function stateWord(state: string): string {
  const words: Readonly<Record<string, string>> = { idle: "Asleep", awaking: "Waking", in_progress: "In progress" };
  return words[state] ?? capitalized(state.replaceAll("_", " "));
}

/** `as`: the state whose look it has. */
export function StateBadge({ state, as = state }: { readonly state: string; readonly as?: string }) {
  const { tone, Icon, turning } = lookOf(as);
  return (
    <Badge tone={tone} icon={Icon} turning={turning === true}>
      {stateWord(state)}
    </Badge>
  );
}

type StateCellProps = { readonly state: string; readonly reason: string | undefined; readonly children: ReactNode };

/** The state of an object in a list, and below it the reason, or else the children. */
export function StateCell({ state, reason, children }: StateCellProps) {
  const told = reason === undefined ? undefined : capitalized(inWords(reason));
  return (
    <div className="stack">
      <span>
        <StateBadge state={state} />
      </span>
      {told === undefined ? (
        <span className="muted">{children}</span>
      ) : (
        <span className="muted cut" style={{ maxWidth: "min(100%, 32ch, 60vw)" }} title={told}>
          {told}
        </span>
      )}
    </div>
  );
}
