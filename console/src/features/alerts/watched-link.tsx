import { Link } from "@tanstack/react-router";
import { defaultRange } from "../../charts/time-range.ts";
import type { Watched } from "./watched.ts";

/** What an alert watches, which leads to Explore. */
export function WatchedLink({ watched: { kind, name, chart } }: { readonly watched: Watched }) {
  const title = name ?? "–";
  return (
    <span className="stack">
      {chart === undefined ? (
        title
      ) : (
        <Link to="/explore" search={{ ...defaultRange, chart }}>
          {title}
        </Link>
      )}
      <span className="muted">{kind}</span>
    </span>
  );
}
