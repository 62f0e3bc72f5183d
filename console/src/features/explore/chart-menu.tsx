import { useNavigate } from "@tanstack/react-router";
import { Bell, Ellipsis, Save } from "lucide-react";
import { useState } from "react";
import { describeCall } from "../../api/client.ts";
import { type ChartDefinition, missingIn, requestOf, seriesNames } from "../../charts/definition.ts";
import { SaveChartDialog } from "../../charts/save-chart-dialog.tsx";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { chartRefusal } from "../../charts/watchable.ts";
import { newAlertAddress } from "../../lib/addresses.ts";
import { zoneStore } from "../../lib/zone.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { copyText } from "../../parts/copy-button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { toast } from "../../parts/toast.tsx";

type ChartMenuProps = {
  readonly chart: ChartDefinition;
  readonly bounds: Bounds | undefined;
  readonly range: TimeRange;
};

/** What can be done with the chart: keep it, or ask the same elsewhere. */
export function ChartMenu({ chart, bounds, range }: ChartMenuProps) {
  const [isSaving, setSaving] = useState(false);
  const navigate = useNavigate();
  const copy = async (text: string, what: string) => {
    if (await copyText(text)) toast(`${what} is copied.`);
    else toast("The browser refuses to copy.", "warn");
  };
  const request = bounds === undefined ? undefined : requestOf(chart, bounds, zoneStore.get(), "auto");
  return (
    <>
      <Button small needs="developer" icon={Save} refusal={missingIn(chart)} onClick={() => setSaving(true)}>
        Save
      </Button>
      <Menu trigger={<IconButton small label="More" icon={Ellipsis} />}>
        <MenuItem
          needs="developer"
          refusal={chartRefusal(chart)}
          icon={Bell}
          onSelect={() => void navigate(newAlertAddress(undefined, chart))}
        >
          Create alert
        </MenuItem>
        <MenuSeparator />
        <MenuItem onSelect={() => void copy(location.href, "The link")}>Copy link</MenuItem>
        <MenuItem onSelect={() => void copy(JSON.stringify(request, undefined, 2), "The request")}>
          Copy request as JSON
        </MenuItem>
        <MenuItem onSelect={() => void copy(curlOf(request), "The command")}>Copy as curl</MenuItem>
      </Menu>
      {isSaving && (
        <SaveChartDialog
          content={{ kind: "chart", chart }}
          title={seriesNames(chart.series).join(", ")}
          range={range}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}

function curlOf(request: ReturnType<typeof requestOf> | undefined): string {
  const { method, path, body } = describeCall("queryChart", {
    params: {},
    body: request as NonNullable<typeof request>,
  });
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s -X ${method} ${location.origin}${path} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${json}'`;
}
