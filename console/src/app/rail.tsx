import { Link } from "@tanstack/react-router";
import {
  Archive,
  Bell,
  ChartLine,
  Database,
  Gauge,
  History,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  ServerCog,
  SquareTerminal,
  Workflow,
} from "lucide-react";
import { useMemo, useState } from "react";
import { useStore } from "../lib/store.ts";
import { browserZone, chooseZone, knownZones, zoneStore } from "../lib/zone.ts";
import css from "./shell.module.css";

const groups = [
  [
    { to: "/", label: "Overview", Icon: Gauge },
    { to: "/services", label: "Services", Icon: Database },
    { to: "/pipes", label: "Pipes", Icon: Workflow },
    { to: "/sql", label: "SQL", Icon: SquareTerminal },
    { to: "/explore", label: "Explore", Icon: ChartLine },
    { to: "/dashboards", label: "Dashboards", Icon: LayoutDashboard },
    { to: "/alerts", label: "Alerts", Icon: Bell },
    { to: "/backups", label: "Backups", Icon: Archive },
  ],
  [
    { to: "/activity", label: "Activity", Icon: History },
    { to: "/access", label: "Access", Icon: KeyRound },
    { to: "/system", label: "System", Icon: ServerCog },
  ],
] as const satisfies readonly (readonly { to: string; label: string; Icon: LucideIcon }[])[];

/** Links to all screens. On narrow screens it opens above the page. */
export function Rail({ open }: { readonly open: boolean }) {
  return (
    <nav className={css.rail} aria-label="Main" data-open={open} id="rail">
      {groups.map((group) => (
        <ul key={group[0].to}>
          {group.map(({ to, label, Icon }) => (
            <li key={to}>
              <Link to={to} className={css.item} activeOptions={{ exact: to === "/", includeSearch: false }}>
                <Icon aria-hidden />
                {label}
              </Link>
            </li>
          ))}
        </ul>
      ))}
      <ZoneChoice />
    </nav>
  );
}

/** The zone of all times of the console, and the only place where it is chosen. */
function ZoneChoice() {
  const zone = useStore(zoneStore);
  // Four hundred names cost the first drawing of every page more than its own content: they come with a hand on them.
  const [isTouched, setTouched] = useState(false);
  const zones = useMemo(() => (isTouched ? knownZones() : [zone]), [isTouched, zone]);
  const touch = () => setTouched(true);
  return (
    <div className={css.zone}>
      <span aria-hidden>Times in</span>
      <select
        aria-label="Times in"
        value={zone}
        onFocus={touch}
        onPointerDown={touch}
        onChange={(event) => chooseZone(event.target.value)}
      >
        {zones.map((name) => (
          <option key={name} value={name}>
            {name === browserZone ? `${name} (browser)` : name}
          </option>
        ))}
      </select>
    </div>
  );
}
