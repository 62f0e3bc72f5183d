import type { LucideIcon } from "lucide-react";
import {
  cloneElement,
  createContext,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useContext,
  useState,
} from "react";
import { type Role, useRefusal } from "../api/role.ts";
import { classes } from "../lib/classes.ts";
import css from "./popup.module.css";
import { toastError } from "./toast.tsx";

type Parts = typeof import("./menu-popup.tsx");

const load = () => import("./menu-popup.tsx");
const PartsContext = createContext<Parts | undefined>(undefined);

type MenuProps = {
  /** A button. It is drawn alone until the menu is opened. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly children: ReactNode;
};

/** A button that opens a list of actions. */
export function Menu({ trigger, children }: MenuProps) {
  const [parts, setParts] = useState<Parts>();
  if (parts !== undefined) {
    return (
      <PartsContext value={parts}>
        <parts.MenuPopup trigger={trigger}>{children}</parts.MenuPopup>
      </PartsContext>
    );
  }
  const preload = () => void load().catch(() => undefined);
  const show = () => void load().then(setParts, toastError);
  return cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onPointerEnter: preload,
    onFocus: preload,
    onClick: show,
    onKeyDown: ({ key }: KeyboardEvent) => key === "ArrowDown" && show(),
  });
}

type MenuItemProps = {
  readonly icon?: LucideIcon;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  readonly needs?: Role;
  readonly refusal?: string | undefined;
  readonly children: ReactNode;
};

/** An action; one that is not possible says why. */
export function MenuItem({ icon: Icon, onSelect, danger, needs, refusal, children }: MenuItemProps) {
  const reason = useRefusal(needs) ?? refusal;
  const { Item } = useParts();
  return (
    <Item
      className={classes(css.item, danger && reason === undefined && css.danger)}
      disabled={reason !== undefined}
      onClick={onSelect}
    >
      {Icon && <Icon aria-hidden />}
      <span>
        {children}
        {reason !== undefined && <span className={`muted ${css.reason}`}>{reason}</span>}
      </span>
    </Item>
  );
}

export function MenuSeparator() {
  const { Separator } = useParts();
  return <Separator className={css.separator} />;
}

/** Items are drawn in an open menu only. */
function useParts(): Parts {
  return useContext(PartsContext) as Parts;
}

/** Text that is not an action. */
export function MenuNote({ children }: { readonly children: ReactNode }) {
  return <div className={`muted ${css.heading}`}>{children}</div>;
}
