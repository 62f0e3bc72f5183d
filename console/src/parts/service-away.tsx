/** A service that does not answer now: why, and the button that helps. */
import { Link } from "@tanstack/react-router";
import { Play, Sunrise } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { OperationName } from "../api/client.ts";
import { refetch, useChange, useOperation } from "../api/queries.ts";
import { serviceAddress } from "../lib/addresses.ts";
import { Button } from "./button.tsx";
import { RelativeTime } from "./relative-time.tsx";
import css from "./service-away.module.css";
import { toastError } from "./toast.tsx";

/** What a state means for somebody who wants an answer. */
const sentences: Readonly<Record<string, string>> = {
  idle: "sleeps. Nothing wakes it by itself; waking takes about 0.2 s.",
  stopped: "is stopped. It has to be started before it answers.",
  failed: "has failed",
  stopping: "stops.",
  terminating: "is being deleted.",
  provisioning: "is being made.",
  starting: "is starting.",
  awaking: "is waking.",
};

export type ServiceAwayProps = {
  /** Undefined while it is not known. */
  readonly serviceId: string | undefined;
  /** The time of the answer that is shown meanwhile. */
  readonly keptAt?: string | undefined;
  /** Operations that are asked again when the service is back. */
  readonly reads: readonly OperationName[];
  /** Wakes a service that sleeps; default: the command. */
  readonly onWake?: (() => Promise<unknown>) | undefined;
  readonly wakeLabel?: string;
};

export function ServiceAway({ serviceId, keptAt, reads, onWake, wakeLabel = "Wake" }: ServiceAwayProps) {
  const services = useOperation("listServices", {});
  const [busy, setBusy] = useState(false);
  const command = useChange("updateServiceState", { changes: ["listServices", "getService"] });
  const service = services.data?.find(({ id }) => id === serviceId);
  // What was known before this was shown is what the service was when it still answered.
  const [since] = useState(Date.now);
  const isCurrent = services.dataUpdatedAt >= since;
  useAskedAgain(isCurrent ? service?.state : undefined, reads);
  if (service === undefined) return <p className={css.away}>The service does not answer now.</p>;
  const { id, name, state, stateMessage } = service;
  const send = (word: "awake" | "start") => command.mutateAsync({ params: { serviceId: id }, body: { command: word } });
  const run = async (act: () => Promise<unknown>) => {
    setBusy(true);
    await act().catch(toastError);
    setBusy(false);
  };
  return (
    <div className={css.away} role="status">
      <p>
        <Link {...serviceAddress(id)}>{name}</Link>{" "}
        {sentences[state] ?? (isCurrent ? "is back." : "does not answer now.")}
        {state === "failed" && (stateMessage === undefined ? "." : `: ${stateMessage}`)}
        {keptAt !== undefined && (
          <>
            {" "}
            This is from <RelativeTime at={keptAt} />.
          </>
        )}
      </p>
      {state === "idle" && (
        <Button
          small
          icon={Sunrise}
          busy={busy}
          needs={onWake === undefined ? "developer" : undefined}
          onClick={() => void run(onWake ?? (() => send("awake")))}
        >
          {wakeLabel}
        </Button>
      )}
      {(state === "stopped" || state === "failed") && (
        <Button small needs="developer" icon={Play} busy={busy} onClick={() => void run(() => send("start"))}>
          Start
        </Button>
      )}
    </div>
  );
}

/** Asks again as soon as the service runs, whoever woke it. */
function useAskedAgain(state: string | undefined, reads: readonly OperationName[]): void {
  const before = useRef<string>(undefined);
  useEffect(() => {
    const isBack = state === "running" || state === "degraded";
    if (isBack && before.current !== state) void refetch(...reads);
    before.current = state;
  }, [state, reads]);
}
