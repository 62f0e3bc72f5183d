import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import css from "./tooltip.module.css";

/** Shows text beside an element on hover and focus. The text must be known to screen readers by other means. */
export function Tooltip({ text, children }: { readonly text: ReactNode; readonly children: ReactElement }) {
  return (
    <Base.Root>
      <Base.Trigger render={children as never} delay={300} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className={css.positioner}>
          <Base.Popup className={css.popup}>{text}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
