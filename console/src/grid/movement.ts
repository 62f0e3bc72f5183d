/** The keys of a grid. */
export type Place = { readonly row: number; readonly column: number };

type Key = { readonly key: string; readonly ctrlKey: boolean; readonly metaKey: boolean };
type Size = { readonly rows: number; readonly columns: number; readonly page: number };

/** Where a key moves the active cell; undefined for other keys and for an empty grid. */
export function moved(from: Place | undefined, { key, ctrlKey, metaKey }: Key, size: Size): Place | undefined {
  if (size.rows === 0 || size.columns === 0) return undefined;
  const start = from ?? { row: 0, column: 0 };
  const isFar = ctrlKey || metaKey;
  const steps: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
    ArrowUp: [isFar ? -size.rows : -1, 0],
    ArrowDown: [isFar ? size.rows : 1, 0],
    ArrowLeft: [0, isFar ? -size.columns : -1],
    ArrowRight: [0, isFar ? size.columns : 1],
    PageUp: [-size.page, 0],
    PageDown: [size.page, 0],
    Home: [isFar ? -size.rows : 0, -size.columns],
    End: [isFar ? size.rows : 0, size.columns],
  };
  const step = steps[key];
  if (step === undefined) return undefined;
  if (from === undefined) return start;
  return { row: within(from.row + step[0], size.rows), column: within(from.column + step[1], size.columns) };
}

function within(value: number, length: number): number {
  return Math.max(0, Math.min(length - 1, value));
}
