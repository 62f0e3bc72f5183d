import { LogOut, MonitorX } from "lucide-react";
import { call } from "../../api/client.ts";
import { refetch, useChange, useOperation } from "../../api/queries.ts";
import { signOut } from "../../api/session.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Asking } from "../../parts/dialog.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import css from "./access.module.css";
import type { Session } from "./key.ts";

/** Browsers that are signed in. */
export function SessionsTab() {
  const query = useOperation("listSessions", {});
  const others = (query.data ?? []).filter(({ current }) => !current);
  const endOthers = async () => {
    for (const { id } of others) await call("deleteSession", { params: { sessionId: id } });
    await refetch("listSessions");
  };
  return (
    <>
      <Panel
        flush
        title="Browsers that are signed in"
        actions={
          <Asking
            button={
              <Button small icon={MonitorX} refusal={others.length === 0 ? "There is no other session." : undefined}>
                End all others
              </Button>
            }
            danger
            title={`End ${others.length === 1 ? "the other session" : `the other ${others.length} sessions`}?`}
            action="End sessions"
            onConfirm={endOthers}
          >
            <p>These browsers are signed out at their next request. Their keys go on.</p>
          </Asking>
        }
      >
        <Answer query={query}>
          {(sessions) => (
            <Table
              none={<EmptyState title="No sessions" />}
              label="Sessions"
              columns={columns}
              rows={sessions.toSorted(newestFirst)}
            />
          )}
        </Answer>
      </Panel>
      <p className={css.intro}>
        A session acts as its key: it has the key's role, and ends when the key is disabled or deleted. Without requests
        it ends after 12 hours. An admin sees the sessions of all keys.
      </p>
    </>
  );
}

function newestFirst(a: Session, b: Session): number {
  return Number(b.current) - Number(a.current) || b.lastSeenAt.localeCompare(a.lastSeenAt);
}

const columns: readonly Column<Session>[] = [
  {
    header: "Browser",
    cell: ({ userAgent, current, keyName }) => (
      <div className="stack">
        <span className={css.name} title={userAgent}>
          {browserText(userAgent)} {current && <Badge tone="info">this one</Badge>}
        </span>
        <span className="muted">acts as {keyName}</span>
      </div>
    ),
  },
  { header: "Since", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { header: "Last seen", nowrap: true, cell: ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} /> },
  { header: "Ends at the latest", nowrap: true, cell: ({ expiresAt }) => <RelativeTime at={expiresAt} /> },
  { header: "", align: "end", cell: (session) => <EndButton session={session} /> },
];

function EndButton({ session }: { readonly session: Session }) {
  const change = useChange("deleteSession", { changes: ["listSessions"], onDone: () => toast("Session ended") });
  if (session.current) {
    return (
      <Button small icon={LogOut} onClick={() => void signOut()}>
        Sign out
      </Button>
    );
  }
  return (
    <Button
      small
      icon={MonitorX}
      busy={change.isPending}
      aria-label={`End session of ${browserText(session.userAgent)} as ${session.keyName}`}
      onClick={() => change.mutate({ params: { sessionId: session.id } }, { onError: toastError })}
    >
      End
    </Button>
  );
}

const browsers: readonly (readonly [word: string, pattern: RegExp])[] = [
  ["Edge", /Edg(?:e|A|iOS)?\/(\d+)/],
  ["Opera", /OPR\/(\d+)/],
  ["Firefox", /(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome", /(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/],
  ["Safari", /Version\/(\d+)[\d.]* .*Safari/],
];

const systems: readonly (readonly [word: string, pattern: RegExp])[] = [
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /CrOS/],
  ["Linux", /Linux|X11/],
];

/** `Firefox 140 on Linux`; the description as it is if it is not known. */
export function browserText(userAgent: string): string {
  if (userAgent === "") return "Unknown browser";
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent));
  if (browser === undefined) return userAgent.slice(0, 60);
  const version = browser[1].exec(userAgent)?.[1];
  const system = systems.find(([, pattern]) => pattern.test(userAgent));
  return `${browser[0]} ${version}${system === undefined ? "" : ` on ${system[0]}`}`;
}
