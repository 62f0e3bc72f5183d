import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { type Role, useRefusal } from "../api/role.ts";
import { classes } from "../lib/classes.ts";
import css from "./popup.module.css";

/** A button that opens a list of actions. */
export function Menu({ trigger, children }: { readonly trigger: ReactElement; readonly children: ReactNode }) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger as never} />
      <Base.Portal>
        <Base.Positioner className={css.positioner} sideOffset={4} align="end">
          <Base.Popup className={css.popup}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

type MenuItemProps = {
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  readonly needs?: Role;
  readonly refusal?: string | undefined;
  readonly children: ReactNode;
};

/** An action; one that is not possible says why. */
export function MenuItem({ icon, onSelect, danger, needs, refusal, children }: MenuItemProps) {
  const reason = useRefusal(needs) ?? refusal;
  return (
    <Base.Item
      className={classes(css.item, danger && reason === undefined && css.danger)}
      disabled={reason !== undefined}
      onClick={onSelect}
    >
      {icon}
      <span>
        {children}
        {reason !== undefined && <span className={css.reason}>{reason}</span>}
      </span>
    </Base.Item>
  );
}

export function MenuSeparator() {
  return <Base.Separator className={css.separator} />;
}

/** Text that is no action. */
export function MenuNote({ children }: { readonly children: ReactNode }) {
  return <div className={css.heading}>{children}</div>;
}
