import { Link } from "@tanstack/react-router";
import { BookOpen, CircleUser, LogOut, MenuIcon, Monitor, Moon, Search, Sun } from "lucide-react";
import { signOut } from "../api/session.ts";
import { sessionStore } from "../api/session-state.ts";
import { useStore } from "../lib/store.ts";
import { IconButton } from "../parts/button.tsx";
import { Menu, MenuItem, MenuNote, MenuSeparator } from "../parts/menu.tsx";
import { openPalette } from "./overlay-state.ts";
import { RefreshState } from "./refresh-state.tsx";
import css from "./shell.module.css";
import { setTheme, type Theme, themeStore } from "./theme.ts";

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

const themes = [
  { value: "system", label: "Theme of the system", Icon: Monitor },
  { value: "light", label: "Light theme", Icon: Sun },
  { value: "dark", label: "Dark theme", Icon: Moon },
] as const satisfies readonly { value: Theme; label: string; Icon: typeof Sun }[];

/** Key and role of the session, theme, and the way out. */
function AccountMenu() {
  const { identity } = useStore(sessionStore);
  const theme = useStore(themeStore);
  const trigger = (
    <button type="button" className={`plain ${css.account}`}>
      <CircleUser aria-hidden />
      <span className={`cut ${css.keyName}`}>
        <span className="visually-hidden">Key </span>
        {identity?.key.name}
      </span>{" "}
      <span className={`muted ${css.role}`}>{identity?.key.role}</span>
    </button>
  );
  return (
    <Menu trigger={trigger}>
      <MenuNote>
        {identity?.key.name} · {identity?.key.role}
        <br />
        Millrace {identity?.version}
      </MenuNote>
      <MenuSeparator />
      {themes.map(({ value, label, Icon }) => (
        <MenuItem key={value} icon={Icon} onSelect={() => setTheme(value)}>
          {label}
          {theme === value ? " ✓" : ""}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={BookOpen} onSelect={() => void window.open("/docs", "_blank", "noopener")}>
        Documentation
      </MenuItem>
      <MenuItem icon={LogOut} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}
