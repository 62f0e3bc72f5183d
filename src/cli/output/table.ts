/** Tables without borders. On a terminal the last column is cut to the width; elsewhere nothing is cut. */
import { cutTo, orDash, printable, type Style, styled, widthOf } from "./text.ts";

export type TableColumn<Row> = {
  readonly title: string;
  readonly value: (row: Row) => unknown;
  readonly style?: (row: Row) => Style | undefined;
  readonly right?: boolean;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
};

export type Look = { readonly color: boolean; readonly width: number | undefined; readonly wide: boolean };

const gap = "  ";

/** The lines of a table with a header. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly TableColumn<Row>[], look: Look): string[] {
  const shown = columns.filter((column) => look.wide || column.wide !== true);
  const cells = rows.map((row) => shown.map((column) => printable(orDash(column.value(row)))));
  const widths = shown.map((column, i) =>
    Math.max(widthOf(column.title), ...cells.map((line) => widthOf(line[i] as string))),
  );
  const limited = limit(widths, look.width);
  const line = (values: readonly string[], styleOf: (i: number) => Style | undefined) =>
    values
      .map((value, i) => {
        const text = cutTo(value, limited[i] as number);
        const filler = " ".repeat(Math.max(0, (limited[i] as number) - widthOf(text)));
        const painted = styled(text, styleOf(i), look.color);
        if (shown[i]?.right === true) return filler + painted;
        return i === values.length - 1 ? painted : painted + filler;
      })
      .join(gap)
      .trimEnd();
  const titles = line(
    shown.map(({ title }) => title),
    () => "dim",
  );
  return [titles, ...rows.map((row, r) => line(cells[r] as string[], (i) => shown[i]?.style?.(row)))];
}

/** Narrows the widest columns until a line fits; no column below 8. */
function limit(widths: readonly number[], width: number | undefined): number[] {
  const limited = [...widths];
  if (width === undefined) return limited;
  const total = () => limited.reduce((sum, one) => sum + one, 0) + gap.length * (limited.length - 1);
  while (total() > width) {
    const widest = limited.indexOf(Math.max(...limited));
    const least = 8;
    if ((limited[widest] as number) <= least) break;
    limited[widest] = Math.max(least, (limited[widest] as number) - (total() - width));
  }
  return limited;
}

/** Lines `NAME  value` of one object; members without a value are left out. */
export function fieldLines(fields: readonly (readonly [string, unknown, Style?])[], color: boolean): string[] {
  const present = fields.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)));
  return present.map(([name, value, style]) => {
    const title = styled(name + " ".repeat(width - widthOf(name)), "dim", color);
    return `${title}${gap}${styled(printable(String(value)), style, color)}`;
  });
}
