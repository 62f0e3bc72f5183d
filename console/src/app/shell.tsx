/** The frame of every screen: rail, bar, messages. */
import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { connectionStore, probeNow } from "../api/connection.ts";
import { useStore } from "../lib/store.ts";
import { zoneStore } from "../lib/zone.ts";
import { Button } from "../parts/button.tsx";
import { useFocusOfScreen, useKeptFocus } from "../parts/kept-focus.ts";
import { RelativeTime, useServerNow } from "../parts/relative-time.tsx";
import { Toasts } from "../parts/toast.tsx";
import { Overlays } from "./overlays.tsx";
import { Rail } from "./rail.tsx";
import css from "./shell.module.css";
import { TopBar } from "./top-bar.tsx";

export function Shell() {
  const [railOpen, setRailOpen] = useState(false);
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const isReached = useStore(connectionStore).reached;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the rail of narrow screens
  useEffect(() => setRailOpen(false), [pathname]);
  useKeptFocus();
  useFocusOfScreen(pathname);
  return (
    <div className={css.shell}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <TopBar railOpen={railOpen} onRail={() => setRailOpen(!railOpen)} />
      <Rail open={railOpen} />
      <main id="main" className={css.main} tabIndex={-1} data-offline={isReached ? undefined : ""}>
        <OfflineBar />
        {/* What shows times is made again in another zone. */}
        <Outlet key={useStore(zoneStore)} />
      </main>
      <Announcer pathname={pathname} />
      <Toasts />
      <Overlays />
    </div>
  );
}

/** Tells screen readers the title of a screen that was opened. */
function Announcer({ pathname }: { readonly pathname: string }) {
  const [title, setTitle] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the title follows the address
  useEffect(() => {
    const timer = setTimeout(() => setTitle(document.title), 300);
    return () => clearTimeout(timer);
  }, [pathname]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {title}
    </div>
  );
}

/** Says that the server does not answer, and when it is asked again. */
function OfflineBar() {
  const connection = useStore(connectionStore);
  if (connection.reached) return null;
  return (
    <div className={css.offline} role="alert">
      <span>
        Millrace does not answer since <RelativeTime at={connection.since} />. What you see is from then.{" "}
        <NextAttempt at={connection.retryAt} />
      </span>
      <Button small onClick={() => void probeNow()}>
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
