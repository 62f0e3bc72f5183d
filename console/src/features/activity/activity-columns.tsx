/** The columns of the list of activities. */
import { Link } from "@tanstack/react-router";
import { activityWords, actorWords, objectWords } from "../../lib/activity-words.ts";
import { timeText } from "../../lib/zone.ts";
import { RelativeTime } from "../../parts/relative-time.tsx";
import type { Column } from "../../parts/table.tsx";
import css from "./activity.module.css";
import { type Activity, addressOf, toneOf } from "./activity-search.ts";

export function activityColumns(onShow: (id: string) => void): readonly Column<Activity>[] {
  return [
    {
      key: "time",
      header: "Time",
      nowrap: true,
      cell: ({ createdAt }) => (
        <div className="stack">
          <span className="numeric">{timeText(Date.parse(createdAt)).slice(5)}</span>
          <span className="muted">
            <RelativeTime at={createdAt} />
          </span>
        </div>
      ),
    },
    { key: "what", header: "What", cell: (activity) => <WhatCell activity={activity} onShow={onShow} /> },
    { key: "object", header: "Object", cell: (activity) => <ObjectCell activity={activity} /> },
    {
      key: "who",
      header: "Who",
      cell: ({ actorType, actorDetails, actorIpAddress }) => (
        <div className="stack">
          <span>{actorWords(actorType, actorDetails)}</span>
          {actorIpAddress !== undefined && <span className={`muted ${css.address}`}>{actorIpAddress}</span>}
        </div>
      ),
    },
  ];
}

type WhatProps = { readonly activity: Activity; readonly onShow: (id: string) => void };

function WhatCell({ activity, onShow }: WhatProps) {
  const { id, type, reason, fields } = activity;
  const tone = toneOf(type);
  return (
    <div className="stack">
      <button type="button" className={`plain toned ${css.open}`} data-tone={tone} onClick={() => onShow(id)}>
        {activityWords(type)}
      </button>
      {reason !== undefined && (
        <span className="clamp muted" title={reason}>
          {reason}
        </span>
      )}
      {fields !== undefined && fields.length > 0 && <span className="muted">set {fields.join(", ")}</span>}
    </div>
  );
}

export function ObjectCell({ activity }: { readonly activity: Activity }) {
  const { objectName, objectType, objectId } = activity;
  const address = addressOf(activity);
  const name = objectName ?? objectId.slice(0, 8);
  return (
    <div className="stack">
      {address === undefined ? <span>{name}</span> : <Link {...address}>{name}</Link>}
      <span className="muted">{objectWords(objectType)}</span>
    </div>
  );
}
