import { useEffect } from "react";
import type { Session } from "../api/session-state.ts";
import { Note } from "../parts/note.tsx";
import css from "./sign-in.module.css";
import { SignInForm } from "./sign-in-form.tsx";

const reasons: Partial<Record<NonNullable<Session["signedOut"]>, string>> = {
  "used-link":
    "This link was used already, or is older than ten minutes. A link works once; make another one with the command below.",
  left: "You are signed out.",
  expired: "The session has ended, or its key was disabled.",
};

/** The whole page, when nobody is signed in. */
export function SignInPage({ reason }: { readonly reason: Session["signedOut"] }) {
  const text = reason === undefined ? undefined : reasons[reason];
  useEffect(() => {
    document.title = "Sign in · Millrace";
  }, []);
  return (
    <main className={css.page}>
      <div className={`column ${css.card}`}>
        <div className={`row ${css.brand}`}>
          <img src="/console/icon.svg" alt="" />
          <h1>Sign in to Millrace</h1>
        </div>
        {text !== undefined && <Note tone={reason === "used-link" ? "warn" : "info"}>{text}</Note>}
        <SignInForm />
        <SignInHelp />
      </div>
    </main>
  );
}

function SignInHelp() {
  return (
    <details className={css.help}>
      <summary>Where do I get a key or a link?</summary>
      <p>
        On the machine of the server, <code>millrace console</code> prints a link that signs you in. It works once and
        for ten minutes.
      </p>
      <p>
        The first key is in <code>credentials.json</code> in the server's data folder. An admin creates more keys in the
        console under Access, or with <code>millrace key create</code>.
      </p>
      <p>
        The demo (<code>npm run demo</code>) prints its own link at the end; press <kbd>l</kbd> there for a new one.
      </p>
    </details>
  );
}
