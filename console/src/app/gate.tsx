/** Shows the login or the console, by the session. */
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { startSession } from "../api/session.ts";
import { sessionStore } from "../api/session-state.ts";
import { useStore } from "../lib/store.ts";
import { late } from "../parts/late.tsx";
import { ErrorState, Skeleton } from "../parts/states.tsx";
import { router } from "./router.tsx";

const ExpiredDialog = late(async () => (await import("./expired-dialog.tsx")).ExpiredDialog);
const SignInPage = late(async () => (await import("./sign-in-page.tsx")).SignInPage);

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
  if (identity === undefined) return <SignInPage reason={signedOut} />;
  return (
    <>
      <RouterProvider router={router} />
      {signedOut === "expired" && <ExpiredDialog />}
    </>
  );
}
