import { Tabs as Base } from "@base-ui/react/tabs";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import css from "./tabs.module.css";

type TabsProps<T extends string> = {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly tabs: readonly { readonly value: T; readonly label: ReactNode; readonly content: ReactNode }[];
};

/** Tabs within a page or dialog. Keep the value in the address if the tab is worth a link. */
export function Tabs<T extends string>({ label, value, onChange, tabs }: TabsProps<T>) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(next as T)}>
      <Base.List className={css.list} aria-label={label}>
        {tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={css.tab}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} style={{ paddingTop: "var(--space-4)" }}>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
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
