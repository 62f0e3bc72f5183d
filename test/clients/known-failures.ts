/** Tests of clients that fail for a reason that docs/gateway.md gives. */
const known: readonly (readonly [suite: string, test: RegExp, reason: string])[] = [
  ["go", /CustomSettings/, "the engine has no custom settings"],
  ["go", /Test2067/, "the engine has no queue of asynchronous inserts"],
  ["rust", /_with_role$|readonly_user$/, "users and roles are not managed in SQL"],
  ["rust", /^opentelemetry::/, "the engine has no system.opentelemetry_span_log"],
  [
    "rust",
    /^arrow::ext_arrow_adds_user_agent$/,
    "the test compares texts of an older extension, without a server's part",
  ],
  ["go", /TestReadOnlyUser$/, "CREATE USER has no DEFAULT DATABASE"],
  ["go", /TestContextCancellationOfHeavyOptimizeFinal/, "a limit of time, which the engine alone misses too"],
];

/** Why this test fails; undefined when no reason is known. */
export function knownFailure(suite: string, test: string): string | undefined {
  return known.find(([name, pattern]) => name === suite && pattern.test(test))?.[2];
}
