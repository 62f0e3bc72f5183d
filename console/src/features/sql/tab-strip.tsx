import { Plus, X } from "lucide-react";
import { useStore } from "../../lib/store.ts";
import { IconButton } from "../../parts/button.tsx";
import { titleOf } from "./drafts.ts";
import { activeTab, closeTab, openTab, selectTab, tabsStore } from "./query-tabs.ts";
import css from "./sql.module.css";

/** The open statements. They belong to this tab of the browser. */
export function TabStrip() {
  const state = useStore(tabsStore);
  const active = activeTab(state);
  return (
    <nav className={css.strip} aria-label="Statements">
      <ul className={css.stripList}>
        {state.tabs.map((tab) => (
          <li key={tab.id} className={css.stripItem} data-active={tab === active || undefined}>
            <button
              type="button"
              className={css.stripName}
              aria-current={tab === active ? "true" : undefined}
              onClick={() => selectTab(tab.id)}
            >
              <span className={css.cut}>{titleOf(tab)}</span>
            </button>
            <IconButton
              small
              label={`Close ${titleOf(tab)}`}
              icon={<X aria-hidden />}
              onClick={() => closeTab(tab.id)}
            />
          </li>
        ))}
      </ul>
      <IconButton small label="New statement" icon={<Plus aria-hidden />} onClick={() => openTab({})} />
    </nav>
  );
}
