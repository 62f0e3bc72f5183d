/** Seeds and bounds of soaks, from the environment. */

/** A whole number. Throws when the variable has another value. */
export function numberOf(name: "SEED" | "SEEDS" | "SECONDS" | "ROUNDS" | "COUNT" | "RUNS", fallback: number): number {
  const text = process.env[name];
  if (text === undefined || text === "") return fallback;
  if (!/^\d+$/.test(text)) throw new Error(`${name} must be a whole number, and is "${text}"`);
  return Number(text);
}

/** `SEED`, or a new one for each run. */
export function seedOf(): number {
  return numberOf("SEED", Math.floor(Math.random() * 2 ** 31));
}
