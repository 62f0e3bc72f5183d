/** The official clients that `npm run test:clients` runs, with their versions. */
export const versions = {
  go: "v2.50.0",
  python: "1.12.0",
  driver: "0.2.11",
  asynch: "0.4.0",
  migrate: "v4.20.1",
  node: "1.23.1",
  rust: "0.15.3",
  rustArrow: "0.1.0",
  klickhouse: "0.15.3",
  java: "0.9.8",
  dbt: "1.10.3",
  dbtCore: "1.10.23",
  dbtTests: "1.20.0",
} as const;
