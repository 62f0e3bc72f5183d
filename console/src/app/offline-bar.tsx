import { connectionStore, probeNow } from "../api/connection.ts";
import { useStore } from "../lib/store.ts";
import { Button } from "../parts/button.tsx";
import { RelativeTime, useServerNow } from "../parts/relative-time.tsx";
import css from "./shell.module.css";

/** Says that the server does not answer, and when it is asked again. */
export function OfflineBar() {
  const connection = useStore(connectionStore);
  if (connection.reached) return null;
  return (
    <div className={css.offline} role="alert">
      <span>
        Millrace does not answer since <RelativeTime at={connection.since} />. What you see is from then.{" "}
        <NextAttempt at={connection.retryAt} />
      </span>
      <Button small onClick={probeNow}>
        Try now
      </Button>
    </div>
  );
}

function NextAttempt({ at }: { readonly at: number }) {
  useServerNow();
  const seconds = Math.max(0, Math.ceil((at - Date.now()) / 1000));
  return <span aria-hidden>Trying again{seconds > 0 ? ` in ${seconds} s` : ""}.</span>;
}
