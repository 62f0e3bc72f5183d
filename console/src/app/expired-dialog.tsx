import { Dialog } from "../parts/dialog.tsx";
import { Note } from "../parts/note.tsx";
import { SignInForm } from "./sign-in-form.tsx";

/** Above the page, which keeps what was typed into it. */
export function ExpiredDialog() {
  return (
    <Dialog open layered title="Sign in again">
      <Note tone="warn">
        The session has ended, or its key was disabled. What you typed below is kept; sign in to go on.
      </Note>
      <SignInForm />
    </Dialog>
  );
}
