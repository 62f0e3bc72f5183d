/** Reads a number in decimal digits; undefined for other text. `Number` also reads `0x10`, `1e2` and ` 5`. */
export function decimalOf(text: string): number | undefined {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
