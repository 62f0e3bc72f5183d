import { seriesToken } from "./colors.ts";

export type SparklineProps = {
  /** What the line shows and its newest value in words; read instead of the line. */
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly width?: number;
  readonly height?: number;
  /** Index of the colour. */
  readonly color?: number;
};

/** A small line from 0 to the greatest value, without axes; gaps stay gaps. */
export function Sparkline({ label, values, width = 96, height = 24, color = 0 }: SparklineProps) {
  return (
    <svg role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <path
        d={sparkPath(values, width, height)}
        fill="none"
        style={{ stroke: seriesToken({}, color) }}
        strokeWidth="1.5"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}

/** An SVG path of the values, with a point for a value between two gaps. */
export function sparkPath(values: readonly (number | null)[], width: number, height: number): string {
  const top = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  const step = width / Math.max(1, values.length - 1);
  const parts = values.flatMap((value, at) => {
    if (value === null) return [];
    const place = `${round(at * step)} ${round(height - 1 - (Math.max(0, value) / top) * (height - 2))}`;
    return (values[at - 1] ?? null) === null ? [`M${place}`, `L${place}`] : [`L${place}`];
  });
  return parts.join("");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
