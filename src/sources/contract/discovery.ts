/** What samples of a source show before a pipe exists. */
import { z } from "zod";

/** A field of the source's samples. */
export const foundField = z.object({
  name: z.string(),
  type: z.string().describe("Type that the engine infers from the samples"),
  optional: z.boolean().describe("Whether the inferred type allows NULL"),
});
export type FoundField = Readonly<z.output<typeof foundField>>;

/** A sample as it arrives and as the engine reads it. */
export const sampleRow = z
  .object({
    raw: z
      .string()
      .optional()
      .describe("The first 4096 bytes as they arrive, binary ones as `hex:` and digits; absent for columnar formats"),
    parsed: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("The row by the fields' types; 64-bit integers are strings"),
    problem: z.string().optional().describe("Why the sample cannot be read"),
  })
  .meta({ id: "SampleRow" });
export type SampleRow = Readonly<z.output<typeof sampleRow>>;

export type Discovery = { readonly fields: readonly FoundField[]; readonly samples: readonly SampleRow[] };
