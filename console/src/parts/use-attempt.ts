import { useState } from "react";
import { type ApiError, asApiError } from "../api/error.ts";

type Attempt = {
  /** Runs the work, unless one runs already. It keeps what went wrong, and never throws. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
  readonly busy: boolean;
  /** What went wrong with the last work, until the next one begins. */
  readonly error: ApiError | undefined;
};

/** What a dialog does when it is confirmed: whether it runs, and why it failed. */
export function useAttempt(): Attempt {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const attempt = async (work: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (reason) {
      setError(asApiError(reason));
    } finally {
      setBusy(false);
    }
  };
  return { attempt, busy, error };
}
