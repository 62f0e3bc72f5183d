import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOperation } from "../../api/queries.ts";
import { activityWords, actorWords } from "../../lib/activity-words.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { ObjectCell } from "./activity-columns.tsx";
import type { Activity } from "./activity-search.ts";

const route = getRouteApi("/activity");

type ActivityDialogProps = { readonly activityId: string; readonly onClose: () => void };

/** Everything that is known about an activity. Its address can be sent to others. */
export function ActivityDialog({ activityId, onClose }: ActivityDialogProps) {
  const query = useOperation("getActivity", { params: { activityId } }, { pace: "never" });
  const navigate = route.useNavigate();
  const only = (search: object) => void navigate({ search: () => search });
  return (
    <Dialog
      open
      wide
      title="Activity"
      onClose={onClose}
      actions={
        query.data !== undefined && (
          <>
            <Button onClick={() => only({ object: query.data.objectId })}>All of this object</Button>
            <Button onClick={() => only({ type: query.data.type })}>All of this kind</Button>
          </>
        )
      }
    >
      <Answer query={query}>
        {(activity) => (
          <>
            <Facts facts={factsOf(activity)} />
            <CodeBlock label="JSON" text={JSON.stringify(activity, null, 2)} />
          </>
        )}
      </Answer>
    </Dialog>
  );
}

function factsOf(activity: Activity): readonly (readonly [string, ReactNode])[] {
  const { createdAt, type, reason, fields, actorType, actorDetails, actorIpAddress, userAgent, requestId } = activity;
  const facts: readonly (readonly [string, ReactNode] | undefined)[] = [
    ["What", activityWords(type)],
    ["When", <RelativeTime key="when" at={createdAt} />],
    ["Object", <ObjectCell key="object" activity={activity} />],
    reason === undefined ? undefined : ["Reason", reason],
    fields === undefined || fields.length === 0 ? undefined : ["Members set", fields.join(", ")],
    ["Who", actorWords(actorType, actorDetails)],
    actorIpAddress === undefined ? undefined : ["From", actorIpAddress],
    userAgent === undefined ? undefined : ["With", userAgent],
    requestId === undefined ? undefined : ["Request", <RequestId key="request" id={requestId} />],
  ];
  return facts.filter((fact) => fact !== undefined);
}

function RequestId({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label="Copy request id" />
    </>
  );
}
