import { CalendarClock, ZoomOut } from "lucide-react";
import { useState } from "react";
import { serverNow } from "../api/server-time.ts";
import { timeText, zoneText } from "../lib/zone.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Menu, MenuItem, MenuSeparator } from "../parts/menu.tsx";
import { boundsOf, presets, rangeText, type TimeRange, widened } from "./time-range.ts";

type RangePickerProps = { readonly range: TimeRange; readonly onChange: (range: TimeRange) => void };

/** A range of time: one of the usual ones, or two ends that are typed. */
export function RangePicker({ range, onChange }: RangePickerProps) {
  const [isTyping, setTyping] = useState(false);
  const label = rangeText(range);
  return (
    <>
      <Menu
        trigger={
          <Button small icon={CalendarClock} aria-label={`Time range: ${label}`}>
            {label}
          </Button>
        }
      >
        {presets.map(({ label: name, from, to }) => (
          <MenuItem key={name} onSelect={() => onChange({ from, to })}>
            {name}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem onSelect={() => setTyping(true)}>Other range …</MenuItem>
      </Menu>
      <IconButton
        small
        label="Zoom out"
        icon={ZoomOut}
        onClick={() => onChange(widened(range, serverNow()) ?? range)}
      />
      {isTyping && <RangeDialog range={range} onChange={onChange} onClose={() => setTyping(false)} />}
    </>
  );
}

type RangeDialogProps = RangePickerProps & { readonly onClose: () => void };

function RangeDialog({ range, onChange, onClose }: RangeDialogProps) {
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const bounds = boundsOf({ from, to }, serverNow());
  const apply = () => {
    onChange({ from, to });
    onClose();
  };
  return (
    <FormDialog
      {...{ title: "Time range", action: "Apply", busy: false, onClose, onSubmit: apply }}
      refusal={bounds === undefined ? "This is not a range of time." : undefined}
    >
      <TextField
        label="From"
        value={from}
        onChange={setFrom}
        mono
        hint="now-90m, 2026-05-01, 2026-05-01 10:30, or with Z for UTC"
      />
      <TextField label="To" value={to} onChange={setTo} mono />
      <p role="status">
        {bounds === undefined
          ? "This is not a range of time."
          : `${timeText(bounds.from)} to ${timeText(bounds.to)}, ${zoneText(bounds.from, bounds.to)}`}
      </p>
    </FormDialog>
  );
}
