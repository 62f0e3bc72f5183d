/** The condition of an alert on a value: the server judges by it, and the console shows what it would have done. */

const tests = {
  above: (value, threshold) => value >= threshold,
  below: (value, threshold) => value < threshold,
  above_exclusive: (value, threshold) => value > threshold,
  below_or_equal: (value, threshold) => value <= threshold,
  equal: (value, threshold) => value === threshold,
  not_equal: (value, threshold) => value !== threshold,
  between: (value, threshold, most) => value >= threshold && value <= most,
  not_between: (value, threshold, most) => value < threshold || value > most,
} satisfies Record<string, (value: number, threshold: number, most: number) => boolean>;

export type ThresholdType = keyof typeof tests;
export const thresholdTypes = Object.keys(tests) as [ThresholdType, ...ThresholdType[]];

export type AlertCondition = {
  readonly thresholdType: ThresholdType;
  readonly threshold: number;
  readonly thresholdMax?: number | undefined;
};

export function fulfils(
  value: number,
  { thresholdType, threshold, thresholdMax = threshold }: AlertCondition,
): boolean {
  return tests[thresholdType](value, threshold, thresholdMax);
}
