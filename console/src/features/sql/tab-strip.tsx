import { Plus, X } from "lucide-react";
import { useStore } from "../../lib/store.ts";
import { IconButton } from "../../parts/button.tsx";
import { toast } from "../../parts/toast.tsx";
import { titleOf } from "./drafts.ts";
import { activeTab, closeTab, openTab, type QueryTab, selectTab, tabsStore } from "./query-tabs.ts";
import css from "./sql.module.css";

/** What was typed stays as a draft; where there is none, the browser asks. */
function close(tab: QueryTab): void {
  const hasText = tab.text.trim() !== "";
  if (hasText && tab.draft === undefined && tab.saved === undefined) {
    if (!confirm(`Close ${titleOf(tab)}? Its text is kept nowhere.`)) return;
  } else if (hasText) toast(`${titleOf(tab)} is closed. Its text stays in Saved.`, "info");
  closeTab(tab.id);
}

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
              className={`plain ${css.stripName}`}
              aria-current={tab === active ? "true" : undefined}
              onClick={() => selectTab(tab.id)}
            >
              <span className="cut">{titleOf(tab)}</span>
            </button>
            <IconButton small label={`Close ${titleOf(tab)}`} icon={X} onClick={() => close(tab)} />
          </li>
        ))}
      </ul>
      <IconButton small label="New statement" icon={Plus} onClick={() => openTab({})} />
    </nav>
  );
}
