/** Sizes of memory that a service can have, in GiB, as choices. */
const sizes = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 356];

export function memoryOptions(present?: number) {
  const all = present === undefined || sizes.includes(present) ? sizes : [...sizes, present].toSorted((a, b) => a - b);
  return all.map((size) => ({ value: String(size), label: `${size} GiB` }));
}
