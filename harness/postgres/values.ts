/** Every type of Postgres with its values, and the objects that they need. */
import { arrayCases, arrayOf } from "./arrays.ts";
import { exactCases, type TypeCase } from "./scalars.ts";
import { textCases } from "./texts.ts";

export const preparation = `
  CREATE EXTENSION IF NOT EXISTS hstore; CREATE EXTENSION IF NOT EXISTS ltree; CREATE EXTENSION IF NOT EXISTS citext;
  CREATE EXTENSION IF NOT EXISTS cube; CREATE EXTENSION IF NOT EXISTS isn; CREATE EXTENSION IF NOT EXISTS seg;
  CREATE TYPE mood AS ENUM ('sad', 'very "happy"', 'it''s, {ok}\\', '');
  CREATE DOMAIN price AS numeric(12, 3) CHECK (VALUE >= -1e6);
  CREATE DOMAIN net_price AS price; CREATE DOMAIN marks AS int[];
  CREATE TYPE point3 AS (x int, y numeric, label text);
  CREATE TYPE floatrange AS RANGE (subtype = float8);
`;

export const typeCases: readonly TypeCase[] = [...exactCases, ...textCases, ...arrayCases];

/** Every other type as the element of an array. */
export const elementCases: readonly TypeCase[] = [...exactCases, ...textCases].map(arrayOf);

/** Types that no user table can have, or that only the server itself can write. */
export const noColumnTypes =
  "gtsvector pg_brin_bloom_summary pg_brin_minmax_multi_summary pg_dependencies pg_mcv_list pg_ndistinct pg_node_tree".split(
    " ",
  );

/** Keys are exact also where a plain column is clamped. */
export const keyCases: readonly TypeCase[] = typeCases
  .filter(({ key }) => key === true)
  .map(({ values, source, keySource, ...each }) => {
    const printed = keySource ?? source;
    // Postgres also treats -0 and 0 as one key; the engine's microseconds end in 294247.
    const distinct = values.filter((value) => !/'-0|294247/.test(value));
    return { ...each, values: distinct, ...(printed === undefined ? {} : { source: printed }) };
  });

/** Only on newer servers. */
export const newerCases: readonly (TypeCase & { readonly since: number })[] = [
  { name: "interval infinity", type: "interval", values: ["'infinity'", "'-infinity'"], stored: "String", since: 17 },
];
