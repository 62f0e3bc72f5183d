import { Link } from "@tanstack/react-router";
import { MenuIcon, Search } from "lucide-react";
import { sessionStore } from "../api/session-state.ts";
import { useStore } from "../lib/store.ts";
import { IconButton } from "../parts/button.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { openPalette } from "./palette-state.ts";
import { RefreshState } from "./refresh-state.tsx";
import css from "./shell.module.css";

type TopBarProps = { readonly railOpen: boolean; readonly onRail: () => void };

export function TopBar({ railOpen, onRail }: TopBarProps) {
  const { identity } = useStore(sessionStore);
  const modifier = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";
  return (
    <header className={css.bar}>
      <div className={css.menuButton}>
        <IconButton label="Menu" icon={MenuIcon} aria-expanded={railOpen} aria-controls="rail" onClick={onRail} />
      </div>
      <Link to="/" className={css.brand} aria-label="Millrace, overview">
        <img src="/console/icon.svg" alt="" />
        <span className={css.brandName}>Millrace</span>
      </Link>
      <span className={`cut ${css.organization}`}>{identity?.organization.name}</span>
      <div className={css.space} />
      <RefreshState />
      <button type="button" className={css.search} onClick={openPalette}>
        <Search aria-hidden />
        <span>Find anything</span>
        <kbd aria-hidden>{modifier} K</kbd>
      </button>
      <AccountMenu />
    </header>
  );
}
