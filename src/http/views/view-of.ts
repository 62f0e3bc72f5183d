/** Records of the API from stored objects. The schema of a record says which members it has. */
import type { z } from "zod";

/** What a record is made of: a member that it may lack can be null, and nobody changes its lists. */
export type Shown<Record> = {
  readonly [Name in keyof Record]:
    | (Record[Name] extends (infer Item)[] | undefined
        ? readonly Item[] | Extract<Record[Name], undefined>
        : Record[Name])
    | (undefined extends Record[Name] ? null : never);
};

/**
 * Returns a function that makes the record of an object with its members. Other members of the object are left out, and
 * so is a member that is undefined, or null where the schema knows no null.
 */
export function viewOf<S extends z.ZodObject>(schema: S): (from: Shown<z.input<S>>) => z.input<S> {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    return { name, hasNull: (member as z.ZodType).safeParse(null).success };
  });
  return (from) => {
    const given = from as Readonly<Record<string, unknown>>;
    const record: Record<string, unknown> = {};
    for (const { name, hasNull } of members) {
      const value = given[name];
      if (value !== undefined && (value !== null || hasNull)) record[name] = value;
    }
    return record as z.input<S>;
  };
}
