/** The order in which test files are begun. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files of the console's tests are spread among those with real servers, which run at the same time: the ones compute
 * while the others wait. The rest is vitest's order, groups one after the other and long files first.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const groups = Map.groupBy(sorted, ({ project }) => project.config.sequence.groupOrder);
    return [...groups.values()].flatMap((group) => {
      const { true: browser = [], false: others = [] } = Object.groupBy(group, ({ moduleId }) =>
        moduleId.includes("/test/browser/") ? "true" : "false",
      );
      return spread(browser, others);
    });
  }
}

/** The few among the first two thirds of the many, both in their order: none of the few is begun at the very end. */
export function spread<T>(few: readonly T[], many: readonly T[]): T[] {
  const every = Math.max(1, Math.floor((many.length * 2) / 3 / Math.max(1, few.length)));
  const order = many.flatMap((one, at) =>
    at % every === 0 && at / every < few.length ? [few[at / every] as T, one] : [one],
  );
  return [...order, ...few.slice(Math.ceil(many.length / every))];
}
