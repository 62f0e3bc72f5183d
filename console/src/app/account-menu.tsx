import { BookOpen, CircleUser, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { signOut } from "../api/session.ts";
import { sessionStore } from "../api/session-state.ts";
import { useStore } from "../lib/store.ts";
import { Menu, MenuItem, MenuNote, MenuSeparator } from "../parts/menu.tsx";
import css from "./shell.module.css";
import { setTheme, type Theme, themeStore } from "./theme.ts";

const themes = [
  { value: "system", label: "Theme of the system", Icon: Monitor },
  { value: "light", label: "Light theme", Icon: Sun },
  { value: "dark", label: "Dark theme", Icon: Moon },
] as const satisfies readonly { value: Theme; label: string; Icon: typeof Sun }[];

/** Key and role of the session, theme, and the way out. */
export function AccountMenu() {
  const { identity } = useStore(sessionStore);
  const theme = useStore(themeStore);
  const trigger = (
    <button type="button" className={`plain ${css.account}`}>
      <CircleUser aria-hidden />
      <span className={`cut ${css.keyName}`}>
        <span className="visually-hidden">Key </span>
        {identity?.key.name}
      </span>{" "}
      <span className={css.role}>{identity?.key.role}</span>
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
