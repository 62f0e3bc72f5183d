import type { ApiError } from "../../api/error.ts";
import { Note } from "../../parts/note.tsx";

/** What the server has against it: the sentence, then each member with its message. */
export function Refusal({ error }: { readonly error: ApiError }) {
  return (
    <Note tone="bad">
      {error.message}
      {error.issues.length > 0 && (
        <ul>
          {error.issues.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </Note>
  );
}
