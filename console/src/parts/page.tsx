/** The frame of a screen: its title with actions, panels, facts and numbers. */
import { type ReactNode, useEffect } from "react";
import { type Role, useRefusal } from "../api/role.ts";
import { CopyButton } from "./copy-button.tsx";
import css from "./page.module.css";
import { EmptyState } from "./states.tsx";

type PageProps = {
  readonly title: string;
  /** Beside the title: a state. */
  readonly badge?: ReactNode;
  /** Below the title: facts in one line. */
  readonly below?: ReactNode;
  /** Shown with a copy button. */
  readonly id?: string;
  readonly actions?: ReactNode;
  /** The role without which the page is of no use. */
  readonly needs?: Role;
  readonly children: ReactNode;
};

export function Page({ title, badge, below, id, actions, needs, children }: PageProps) {
  const refusal = useRefusal(needs);
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <div className={css.page}>
      <header className={`row ${css.head}`}>
        <div className={css.titles}>
          <div className={`row ${css.title}`}>
            <h1>{title}</h1>
            {badge}
          </div>
          {(below !== undefined || id !== undefined) && (
            <div className={`row ${css.below}`}>
              {below}
              {id !== undefined && (
                <span className="row">
                  <code>{id.slice(0, 8)}</code>
                  <CopyButton text={id} label="Copy id" />
                </span>
              )}
            </div>
          )}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      {refusal === undefined ? (
        children
      ) : (
        <EmptyState title="This key may not do this">
          {refusal} Sign in with another key, or ask an admin for the role.
        </EmptyState>
      )}
    </div>
  );
}

type PanelProps = {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  /** Without padding, for tables. */
  readonly flush?: boolean;
  readonly children: ReactNode;
};

export function Panel({ title, actions, flush, children }: PanelProps) {
  return (
    <section className={`surface ${css.panel}`}>
      {title !== undefined && (
        <div className={`row ${css.panelHead}`}>
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {flush ? children : <div className={`group ${css.padded}`}>{children}</div>}
    </section>
  );
}

/** Names and values below each other. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => (
        <FactRow key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function FactRow({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** A row of numbers. */
export function Tiles({ children }: { readonly children: ReactNode }) {
  return <div className={css.tiles}>{children}</div>;
}

type TileProps = { readonly label: ReactNode; readonly children: ReactNode; readonly note?: ReactNode };

export function Tile({ label, children, note }: TileProps) {
  return (
    <div className={`surface ${css.tile}`}>
      <div className="muted">{label}</div>
      <div className={css.tileValue}>{children}</div>
      {note !== undefined && <div className="muted">{note}</div>}
    </div>
  );
}
