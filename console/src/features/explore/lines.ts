import { type KeyboardEvent, useState } from "react";

/** Lines of a list, each with a button: Tab comes to one of them, and the arrow keys go from line to line. */
export function useLines(count: number) {
  const [reached, setReached] = useState(0);
  return {
    /** The line that Tab comes to. */
    stop: Math.min(reached, count - 1),
    setReached,
    /** Moves the focus; the button that has it then. */
    onArrow: (event: KeyboardEvent): HTMLButtonElement | undefined => {
      const item = (event.target as HTMLElement).parentElement;
      const next =
        event.key === "ArrowDown"
          ? item?.nextElementSibling
          : event.key === "ArrowUp"
            ? item?.previousElementSibling
            : undefined;
      const button = next?.querySelector("button");
      if (item?.parentElement !== event.currentTarget || button == null) return undefined;
      event.preventDefault();
      button.focus();
      return button;
    },
  };
}
