import { Link, type LinkProps } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useId } from "react";
import css from "./tabs.module.css";

type TabsProps<T extends string> = {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly tabs: readonly { readonly value: T; readonly label: ReactNode; readonly content: ReactNode }[];
  /** Beside the tabs. */
  readonly beside?: ReactNode;
  /** Between the tabs and the panel. */
  readonly between?: ReactNode;
  /** Classes of a screen on which tabs look otherwise. */
  readonly styles?: Partial<Record<"root" | "head" | "list" | "tab" | "panel", string | undefined>>;
};

/** Tabs within a page or dialog, for the arrow keys too. Keep the value in the address if it is worth a link. */
export function Tabs<T extends string>({ label, value, onChange, tabs, beside, between, styles = css }: TabsProps<T>) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = nextTab(
      event.key,
      tabs.findIndex((tab) => tab.value === value),
      tabs.length,
    );
    if (next === undefined) return;
    event.preventDefault();
    onChange((tabs[next] as (typeof tabs)[number]).value);
    (event.currentTarget.children[next] as HTMLElement).focus();
  };
  return (
    <div className={styles.root}>
      <div className={styles.head}>
        <div role="tablist" className={styles.list} aria-label={label} onKeyDown={onKeyDown}>
          {tabs.map((tab) => (
            <button
              key={tab.value}
              type="button"
              role="tab"
              id={`${id}-${tab.value}`}
              aria-controls={`${id}-panel`}
              aria-selected={tab.value === value}
              tabIndex={tab.value === value ? 0 : -1}
              className={styles.tab}
              onClick={() => onChange(tab.value)}
            >
              {tab.label}
            </button>
          ))}
        </div>
        {beside}
      </div>
      {between}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, so the keyboard must reach it */}
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${value}`} className={styles.panel} tabIndex={0}>
        {tabs.find((tab) => tab.value === value)?.content}
      </div>
    </div>
  );
}

/** The index that a key leads to, around the ends; undefined for other keys. */
function nextTab(key: string, at: number, count: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: count - 1 };
  const next = steps[key];
  return next === undefined ? undefined : (next + count) % count;
}

type NavTabsProps = {
  readonly label: string;
  readonly tabs: readonly (LinkProps & { readonly label: ReactNode; readonly exact?: boolean })[];
};

/** Tabs that are routes. */
export function NavTabs({ label, tabs }: NavTabsProps) {
  return (
    <nav className={css.list} aria-label={label}>
      {tabs.map(({ label: text, exact = true, ...link }) => (
        <Link key={String(link.to)} {...link} className={css.tab} activeOptions={{ exact, includeSearch: false }}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
