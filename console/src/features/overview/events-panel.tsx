import { Link } from "@tanstack/react-router";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { activityWords, actorWords, objectWords } from "../../lib/activity-words.ts";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import css from "./overview.module.css";

type Activity = OperationResult<"listActivities">["activities"][number];

/** What happened last. */
export function EventsPanel() {
  const query = useOperation("listActivities", { query: { limit: 10 } });
  return (
    <Panel flush title="Recent activity" actions={<Link to="/activity">All</Link>}>
      <Answer query={query}>
        {({ activities }) =>
          activities.length === 0 ? (
            <EmptyState title="Nothing happened yet" />
          ) : (
            <ul>
              {activities.map((activity) => (
                <Event key={activity.id} activity={activity} />
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function Event({ activity }: { readonly activity: Activity }) {
  const { objectName, type, actorType, actorDetails, reason, createdAt } = activity;
  return (
    <li className={css.event}>
      <span className={css.subject}>
        {objectName ?? objectWords(activity.objectType)} <span className={css.age}>{activityWords(type)}</span>
      </span>
      {reason !== undefined && (
        <span className="clamp muted" title={reason}>
          {reason}
        </span>
      )}
      <span className={css.age}>
        <RelativeTime at={createdAt} /> · {actorWords(actorType, actorDetails)}
      </span>
    </li>
  );
}
