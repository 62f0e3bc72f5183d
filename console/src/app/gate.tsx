/** Shows the login or the console, by the session. */
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { startSession } from "../api/session.ts";
import { sessionStore } from "../api/session-state.ts";
import { useStore } from "../lib/store.ts";
import { ErrorState, Skeleton } from "../parts/states.tsx";
import { router } from "./router.tsx";

const ExpiredDialog = lazy(async () => ({ default: (await import("./expired-dialog.tsx")).ExpiredDialog }));
const SignInPage = lazy(async () => ({ default: (await import("./sign-in-page.tsx")).SignInPage }));

let started: Promise<void> | undefined;

export function Gate() {
  const { identity, signedOut } = useStore(sessionStore);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    started ??= startSession();
    started.catch(setError);
    // The screen loads while the server is asked who is signed in.
    void router.load();
  }, []);
  if (error !== undefined && signedOut === "unknown") {
    return <ErrorState error={error} onRetry={() => location.reload()} />;
  }
  if (signedOut === "unknown") return <Skeleton lines={3} />;
  if (identity === undefined) {
    return (
      <Suspense>
        <SignInPage reason={signedOut} />
      </Suspense>
    );
  }
  return (
    <>
      <RouterProvider router={router} />
      <Suspense>{signedOut === "expired" && <ExpiredDialog />}</Suspense>
    </>
  );
}
