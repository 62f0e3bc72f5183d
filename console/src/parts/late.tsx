import { CatchBoundary } from "@tanstack/react-router";
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from "react";
import { asApiError } from "../api/error.ts";
import { missingStyles } from "../lib/styles.ts";
import { Button } from "./button.tsx";
import { Note } from "./note.tsx";

/**
 * A component whose code is loaded when it is first shown. What is around it stays meanwhile, and also when the code
 * cannot be loaded or fails.
 */
export function late<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const make = () =>
    lazy(async () => {
      await missingStyles();
      return { default: await load() };
    }) as ComponentType<Props>;
  let Loaded = make();
  // A promise that was rejected stays so: another attempt needs another one.
  const renew = () => {
    Loaded = make();
  };
  return (props: Props) => <Late renew={renew}>{() => <Loaded {...props} />}</Late>;
}

function Late({ renew, children }: { readonly renew: () => void; readonly children: () => ReactNode }) {
  const [attempt, setAttempt] = useState(0);
  const again = () => {
    renew();
    setAttempt(attempt + 1);
  };
  return (
    <CatchBoundary
      getResetKey={() => attempt}
      errorComponent={({ error }) => (
        <Note tone="bad">
          This part of the page could not be loaded. {asApiError(error).message}{" "}
          <Button small onClick={again}>
            Try again
          </Button>
        </Note>
      )}
    >
      <Suspense>{children()}</Suspense>
    </CatchBoundary>
  );
}
