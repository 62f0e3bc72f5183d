/** What a screen shows instead of its content, and how it chooses. */
import type { UseQueryResult } from "@tanstack/react-query";
import { CircleAlert, Lock, type LucideIcon, SearchX } from "lucide-react";
import { type ReactNode, useLayoutEffect, useState } from "react";
import { type ApiError, asApiError } from "../api/error.ts";
import { Button, ButtonLink } from "./button.tsx";
import { Note } from "./note.tsx";
import { RelativeTime } from "./relative-time.tsx";
import css from "./states.module.css";

type EmptyStateProps = {
  readonly icon?: LucideIcon;
  readonly title: string;
  /** What this is for, and how it begins. */
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
};

export function EmptyState({ icon: Icon, title, children, actions }: EmptyStateProps) {
  return (
    <div className={`${css.box} ${css.centered}`}>
      {Icon && <Icon aria-hidden />}
      <Title>{title}</Title>
      {children !== undefined && <div className={css.text}>{children}</div>}
      {actions !== undefined && <div className={`row ${css.actions}`}>{actions}</div>}
    </div>
  );
}

/** The first heading of a screen that shows nothing else. */
function Title({ children }: { readonly children: ReactNode }) {
  const Heading = useIsAlone() ? "h1" : "h2";
  return <Heading className={css.title}>{children}</Heading>;
}

function useIsAlone(): boolean {
  const [isAlone, setAlone] = useState(false);
  // The title of the screen is there by now, if it has one.
  useLayoutEffect(() => setAlone(document.querySelector("h1") === null), []);
  return isAlone;
}

/** What failed, why, and what helps. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const known = asApiError(error);
  if (known.status === 403) return <NoPermission error={known} />;
  // What cannot be an id is none.
  if (known.status === 404 || known.message.startsWith("Invalid request path")) return <Missing error={known} />;
  return (
    <div className={css.box} role="alert">
      <CircleAlert aria-hidden />
      <Title>This could not be loaded</Title>
      <p className={css.text}>{known.message}</p>
      <p className={`muted ${css.small}`}>{identification(known)}</p>
      {onRetry !== undefined && (
        <div className={`row ${css.actions}`}>
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </div>
  );
}

/** A screen of something that does not exist leads to its list; a part of a screen does not. */
function Missing({ error }: { readonly error: ApiError }) {
  const [, , list, ...ids] = location.pathname.split("/");
  const isAlone = useIsAlone();
  const isOfAddress = error.status === 400 || ids.some((id) => error.message.includes(id));
  const isScreen = ids.length > 0 && (isAlone || isOfAddress);
  const link = isScreen ? <ButtonLink to={`/${list}` as "/"}>All {list}</ButtonLink> : undefined;
  return (
    <EmptyState icon={SearchX} title="This does not exist" actions={link}>
      It was deleted, or never existed. {error.message}
    </EmptyState>
  );
}

function NoPermission({ error }: { readonly error: ApiError }) {
  return (
    <EmptyState icon={Lock} title="This key may not see this">
      {error.message}
    </EmptyState>
  );
}

/** Code and request id, for the server's log. */
function identification({ code, requestId }: ApiError): string {
  return requestId === undefined ? code : `${code} · request ${requestId}`;
}

/** Gray lines in the shape of a list; appears after 200 ms, so that fast answers do not flicker. */
export function Skeleton({ lines = 5 }: { readonly lines?: number }) {
  const widths = ["92%", "74%", "83%", "66%", "88%", "70%", "80%", "61%"];
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <div key={index} className={css.line} style={{ width: widths[index % widths.length] }} />
      ))}
    </div>
  );
}

type AnswerProps<T> = {
  readonly query: UseQueryResult<T, ApiError>;
  /** Default: a skeleton of five lines. */
  readonly loading?: ReactNode;
  readonly children: (data: T) => ReactNode;
};

/**
 * The content of a query in every state: loading, failed without an answer, and failed with an old one. That one stays,
 * at the same place of the tree, so that what is typed and opened in it stays too: a note says how old it is.
 */
export function Answer<T>({ query, loading, children }: AnswerProps<T>) {
  const { data, error } = query;
  if (data === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void query.refetch()} />;
    return loading ?? <Skeleton />;
  }
  // The shell says that the server does not answer, and asks to sign in again.
  const isSaid = error === null || error.status === 0 || error.status === 401;
  return (
    <>
      {!isSaid && (
        <Note tone="warn">
          What you see is from <RelativeTime at={query.dataUpdatedAt} />
          {error.status === 404 ? " and does not exist any more" : "; newer data could not be loaded"}. {error.message}{" "}
          <code>{identification(error)}</code>
        </Note>
      )}
      {children(data)}
    </>
  );
}
