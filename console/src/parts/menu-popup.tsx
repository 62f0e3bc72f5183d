/** The open part of a menu. It is loaded when the first menu is pointed at: most pages are left without opening one. */
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import css from "./popup.module.css";

/** A menu that is open when it is first drawn. */
export function MenuPopup({ trigger, children }: { readonly trigger: ReactElement; readonly children: ReactNode }) {
  return (
    <Base.Root modal={false} defaultOpen>
      <Base.Trigger render={trigger as never} />
      <Base.Portal>
        <Base.Positioner className={css.positioner} sideOffset={4} align="end">
          <Base.Popup className={css.popup}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export const { Item, Separator } = Base;
