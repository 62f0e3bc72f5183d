import { classes } from "../lib/classes.ts";
import css from "./code-block.module.css";
import { CopyButton } from "./copy-button.tsx";

type CodeBlockProps = {
  readonly text: string;
  /** What it is, for screen readers and the copy button: `curl command`. */
  readonly label: string;
  readonly wrap?: boolean;
};

/** Text to read and copy, as it is. */
export function CodeBlock({ text, label, wrap }: CodeBlockProps) {
  return (
    <section className={css.block} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre className={classes(css.text, wrap && css.wrap)} tabIndex={0}>
        {text}
      </pre>
      <div className={css.copy}>
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
    </section>
  );
}
