/** What a pipe of this kind promises, in words. */
import type { Form } from "./form.ts";

export function guaranteeOf({ kind, values }: Form): string {
  const refused = "Rows that do not fit are kept apart with their reason, and can be replayed.";
  switch (kind) {
    case "messageBroker":
    case "managedStream":
      return `Every message is written exactly once, also when a process, the service or the source is killed. ${refused}`;
    case "relationalDb":
      return values["settings.replicationMode"] === "snapshot"
        ? "Every row is copied once, as of one moment. Later changes are not followed."
        : "Every row is copied, and every later insert, update and delete is applied exactly once and in order. A table whose change cannot be applied stops alone, and says why.";
    default:
      return `Every object is loaded exactly once, also when a process, the service or the store is killed. ${refused}`;
  }
}
