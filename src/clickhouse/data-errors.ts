/** Codes of parsers and converters that do not like the bytes, and of throwIf (395): the same bytes will never load. */
const dataErrorCodes: readonly number[] = [
  6, 25, 26, 27, 32, 33, 34, 38, 40, 41, 43, 53, 69, 70, 72, 79, 117, 128, 130, 131, 190, 198, 246, 271, 321, 349, 354,
  376, 395, 407, 441, 467, 561, 636, 638, 675, 676, 678, 679, 691, 748,
];

/** Readers of other libraries throw exceptions of their own, which the engine passes on under one code. */
const foreignReader = /^std::exception\. Code: 1001, type: (?:avro|parquet|arrow|orc)::/;

/** True when the engine could not read the data: the same bytes will never load. */
export function isDataError({ code, message }: { readonly code: number; readonly message: string }): boolean {
  return dataErrorCodes.includes(code) || (code === 1001 && foreignReader.test(message));
}
