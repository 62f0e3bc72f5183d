import { ArrowLeft, ArrowRight, Copy, GripVertical, MoveDiagonal2, Trash2 } from "lucide-react";
import type { KeyboardEvent, PointerEvent } from "react";
import {
  type DashboardPanel,
  nearestSize,
  nextSize,
  type PanelHeight,
  type PanelWidth,
  panelHeights,
  panelWidths,
  placed,
} from "../../charts/dashboard.ts";
import { IconButton } from "../../parts/button.tsx";
import { inputClass } from "../../parts/field.tsx";
import css from "./dashboards.module.css";

type PanelToolsProps = {
  readonly panel: DashboardPanel;
  readonly panels: readonly DashboardPanel[];
  readonly onChange: (panels: readonly DashboardPanel[]) => void;
  readonly onSay: (text: string) => void;
};

/** What moves, sizes, names, doubles and removes a panel. */
export function PanelTools({ panel, panels, onChange, onSay }: PanelToolsProps) {
  const { id, title } = panel;
  const at = panels.indexOf(panel);
  // Several may have one title, as a copy has.
  const isAlone = title !== "" && panels.every((one) => one === panel || one.title !== title);
  const name = isAlone ? title : `${title} at place ${at + 1}`.trim();
  const replace = (...next: readonly DashboardPanel[]) => onChange(panels.toSpliced(at, 1, ...next));
  const place = (to: number) => {
    const next = placed(panels, id, to);
    onChange(next);
    onSay(`${title} is at place ${next.indexOf(panel) + 1} of ${next.length}.`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps = stepOf(event.key, "ArrowLeft", "ArrowRight");
    if (steps === 0 || (event.target as Element).tagName === "INPUT") return;
    event.preventDefault();
    place(at + steps);
  };
  return (
    <>
      <div className={css.tools} role="toolbar" aria-label={`Tools of ${name}`} onKeyDown={onKeyDown}>
        <IconButton
          small
          label={`Drag ${name}`}
          icon={GripVertical}
          className={css.grip}
          onPointerDown={(event) => drag(event, (target) => place(panels.findIndex((one) => one.id === target)))}
        />
        <input
          className={inputClass}
          aria-label={`Title of ${name}`}
          value={title}
          onChange={(event) => replace({ ...panel, title: event.target.value })}
        />
        <IconButton small label={`Move ${name} before`} icon={ArrowLeft} onClick={() => place(at - 1)} />
        <IconButton small label={`Move ${name} behind`} icon={ArrowRight} onClick={() => place(at + 1)} />
        <IconButton
          small
          label={`Duplicate ${name}`}
          icon={Copy}
          onClick={() => replace(panel, { ...panel, id: crypto.randomUUID() })}
        />
        <IconButton small label={`Remove ${name}`} icon={Trash2} onClick={() => replace()} />
      </div>
      <SizeHandle
        panel={panel}
        name={name}
        onSize={(width, height) => {
          replace({ ...panel, width, height });
          onSay(`${title} is ${width} of 12 columns wide and ${height} pixels high.`);
        }}
      />
    </>
  );
}

type SizeHandleProps = {
  readonly panel: DashboardPanel;
  readonly name: string;
  readonly onSize: (width: PanelWidth, height: PanelHeight) => void;
};

/** The corner of a panel: the mouse drags it to the nearest size, the arrow keys go to the next one. */
function SizeHandle({ panel: { width, height }, name, onSize }: SizeHandleProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const columns = stepOf(event.key, "ArrowLeft", "ArrowRight");
    const rows = stepOf(event.key, "ArrowUp", "ArrowDown");
    if (columns === 0 && rows === 0) return;
    event.preventDefault();
    onSize(nextSize(panelWidths, width, columns), nextSize(panelHeights, height, rows));
  };
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    const item = event.currentTarget.closest("li") as HTMLElement;
    const column = (item.parentElement as HTMLElement).clientWidth / 12;
    const { right, bottom } = item.getBoundingClientRect();
    follow(event, (x, y) =>
      onSize(nearestSize(panelWidths, width + (x - right) / column), nearestSize(panelHeights, height + y - bottom)),
    );
  };
  return (
    <IconButton
      small
      label={`Size of ${name}`}
      icon={MoveDiagonal2}
      className={css.size}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
    />
  );
}

/** Marks the panel under the pointer until it is let go there. */
function drag(event: PointerEvent, onDrop: (id: string) => void): void {
  let over: HTMLElement | undefined;
  const mark = (next: HTMLElement | undefined) => {
    delete over?.dataset.over;
    over = next;
    if (over !== undefined) over.dataset.over = "";
  };
  follow(
    event,
    (x, y) => mark(document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-panel]") ?? undefined),
    () => {
      const id = over?.dataset.panel;
      mark(undefined);
      if (id !== undefined) onDrop(id);
    },
  );
}

/** The places of a pointer from now on until it is let go. */
function follow(event: PointerEvent, onMove: (x: number, y: number) => void, onEnd?: () => void): void {
  event.preventDefault();
  const ending = new AbortController();
  const { signal } = ending;
  addEventListener("pointermove", ({ clientX, clientY }) => onMove(clientX, clientY), { signal });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(
      end,
      () => {
        ending.abort();
        onEnd?.();
      },
      { signal },
    );
  }
}

/** -1 for the first key, 1 for the second, 0 for others. */
function stepOf(key: string, less: string, more: string): -1 | 0 | 1 {
  return key === less ? -1 : key === more ? 1 : 0;
}
