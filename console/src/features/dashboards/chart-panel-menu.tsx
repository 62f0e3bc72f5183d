import { useNavigate } from "@tanstack/react-router";
import { Bell, ChartLine, Ellipsis } from "lucide-react";
import type { ChartDefinition } from "../../charts/definition.ts";
import type { TimeRange } from "../../charts/time-range.ts";
import { chartRefusal } from "../../charts/watchable.ts";
import { newAlertAddress } from "../../lib/addresses.ts";
import { IconButton } from "../../parts/button.tsx";
import { Menu, MenuItem } from "../../parts/menu.tsx";

type ChartPanelMenuProps = {
  readonly title: string;
  /** With the values of variables. */
  readonly chart: ChartDefinition;
  readonly range: TimeRange;
};

/** What can be done with a chart of a dashboard. */
export function ChartPanelMenu({ title, chart, range }: ChartPanelMenuProps) {
  const navigate = useNavigate();
  return (
    <Menu trigger={<IconButton small label={`Actions of ${title}`} icon={Ellipsis} />}>
      <MenuItem icon={ChartLine} onSelect={() => void navigate({ to: "/explore", search: { ...range, chart } })}>
        Open in Explore
      </MenuItem>
      <MenuItem
        needs="developer"
        refusal={chartRefusal(chart)}
        icon={Bell}
        onSelect={() => void navigate(newAlertAddress(title, chart))}
      >
        Create alert
      </MenuItem>
    </Menu>
  );
}
