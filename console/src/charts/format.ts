/** Values as text. */
import { bytesText, durationText } from "../lib/format.ts";
import type { Unit } from "./types.ts";

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 2 });
const small = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
/** Three digits after the point, and more where fewer than four would be left of the value. */
const exact = new Intl.NumberFormat("en-US", {
  ...{ maximumFractionDigits: 3, maximumSignificantDigits: 4 },
  roundingPriority: "morePrecision",
});

/** Digits that a double surely has. */
const rounded = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15 });

/** Short, for axes. */
export function axisText(value: number, unit: Unit, sizeText = tickText): string {
  switch (unit) {
    case "bytes":
      return sizeText(value);
    case "bytesPerSecond":
      return `${sizeText(value)}/s`;
    case "milliseconds":
      return durationText(value / 1000);
    case "seconds":
      return durationText(value);
    case "percent":
      return `${plain(value * 100)} %`;
    default:
      return plain(value);
  }
}

/** The text of tooltips, tables and announcements, with all digits that matter. Beyond 2^53 it says it is rounded. */
export function valueText(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "no value";
  const number = Math.abs(value) > Number.MAX_SAFE_INTEGER ? `≈ ${rounded.format(value)}` : exact.format(value);
  if (unit === "number") return number;
  if (unit === "perSecond") return `${number}/s`;
  return axisText(value, unit, bytesText);
}

/** Ticks of sizes are multiples of a power of two, with at most three digits after the point. */
function tickText(bytes: number): string {
  const power = Math.max(0, Math.min(5, Math.floor(Math.log2(Math.abs(bytes)) / 10)));
  return `${Number((bytes / 1024 ** power).toFixed(3))} ${bytesText(1024 ** power).split(" ")[1]}`;
}

function plain(value: number): string {
  return Math.abs(value) >= 1000 ? compact.format(value) : small.format(value);
}
