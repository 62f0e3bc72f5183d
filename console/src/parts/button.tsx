import { Link, type LinkProps } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { type Role, useRefusal } from "../api/role.ts";
import { classes } from "../lib/classes.ts";
import css from "./button.module.css";

export type ButtonLook = {
  readonly look?: "primary" | "secondary" | "quiet" | "danger";
  readonly small?: boolean;
};

type ButtonProps = Omit<ComponentProps<"button">, "disabled"> &
  ButtonLook & {
    /** The lowest role that may do this. With a lower one the button says so instead. */
    readonly needs?: Role;
    /** Why the button does nothing now; shown to the user. */
    readonly refusal?: string | undefined;
    /** While the action runs. */
    readonly busy?: boolean;
    readonly icon?: LucideIcon;
    /** Shown on hover and focus, before the reason of a refusal. */
    readonly tip?: string;
  };

/** A button that stays focusable when it does nothing, so that everybody can read why. */
export function Button({
  look,
  small,
  needs,
  refusal,
  busy,
  icon: Icon,
  tip,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const reason = useRefusal(needs) ?? refusal;
  const inactive = reason !== undefined || busy === true;
  const tips = [tip, reason].filter((text) => text !== undefined);
  return (
    <button
      type="button"
      {...rest}
      className={classes(className({ look, small }), children === undefined && css.icon, rest.className)}
      aria-disabled={inactive || undefined}
      aria-description={reason}
      aria-busy={busy || undefined}
      data-tip={tips.length === 0 ? undefined : tips.join(". ")}
      onClick={(event) => {
        if (inactive) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {Icon && <Icon aria-hidden />}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ButtonProps, "children" | "tip"> & { readonly label: string; readonly icon: LucideIcon };

/** A button with an icon alone; the label is its name and its tooltip. */
export function IconButton({ label, look = "quiet", ...rest }: IconButtonProps) {
  return <Button {...rest} look={look} aria-label={label} tip={label} />;
}

type ButtonLinkProps = LinkProps & ButtonLook & Pick<ButtonProps, "needs" | "icon">;

/** A link that looks like a button; a button that says why for a role that may not do what it leads to. */
export function ButtonLink({ needs, ...props }: ButtonLinkProps) {
  const refusal = useRefusal(needs);
  const { look, small, icon: Icon, children, ...rest } = props;
  if (refusal !== undefined) {
    const button = { look, small, icon: Icon, refusal } as ButtonProps;
    return <Button {...button}>{children as ReactNode}</Button>;
  }
  return (
    <Link {...rest} className={className({ look, small })}>
      {Icon && <Icon aria-hidden />}
      {children as ReactNode}
    </Link>
  );
}

function className({ look, small }: { look: ButtonLook["look"] | undefined; small: boolean | undefined }): string {
  return classes(css.button, look !== undefined && look !== "secondary" && css[look], small && css.small);
}
