/**
 * The functions an expression may call. An allow-list: what is not named here cannot be called, so nothing that reads
 * files, dictionaries, other tables, the network, the server's state or settings, that sleeps, throws on purpose,
 * allocates by an argument, or depends on the order of rows. `functions.real.test.ts` checks the names on the engine.
 */

const names = `
  abs ceil ceiling floor round roundBankers roundDown roundToExp2 roundDuration roundAge trunc truncate sign sqrt cbrt
  exp exp2 exp10 log log2 log10 log1p ln pow power sin cos tan asin acos atan atan2 sinh cosh tanh hypot degrees radians
  pi sigmoid clamp greatest least gcd lcm divide plus minus multiply modulo negate intDiv intDivOrZero intDivOrNull
  divideOrNull moduloOrZero moduloOrNull positiveModulo widthBucket isFinite isInfinite isNaN ifNotFinite
  bitAnd bitOr bitXor bitNot bitShiftLeft bitShiftRight bitTest bitCount byteSwap hex unhex bin unbin
  equals notEquals less lessOrEquals greater greaterOrEquals and or not xor
  if multiIf ifNull nullIf coalesce isNull isNotNull isZeroOrNull assumeNotNull toNullable isNullable transform
  length lengthUTF8 empty notEmpty lower upper lowerUTF8 upperUTF8 lcase ucase initcap initcapUTF8 reverse reverseUTF8
  concat concatWithSeparator substring substr mid substringUTF8 substringIndex left right leftUTF8 rightUTF8
  trim trimLeft trimRight trimBoth ltrim rtrim startsWith endsWith startsWithUTF8 endsWithUTF8 position positionUTF8
  positionCaseInsensitive positionCaseInsensitiveUTF8 locate countSubstrings countSubstringsCaseInsensitive like ilike
  notLike notILike match extract extractAll extractGroups regexpExtract countMatches countMatchesCaseInsensitive
  replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne regexpQuoteMeta translate translateUTF8
  multiSearchAny multiSearchAnyCaseInsensitive multiMatchAny hasToken hasTokenCaseInsensitive hasAnyTokens hasAllTokens
  hasSubsequence splitByChar splitByString splitByRegexp splitByWhitespace splitByNonAlpha alphaTokens tokens ngrams
  arrayStringConcat toValidUTF8 isValidUTF8 isValidJSON normalizeUTF8NFC ascii basename path pathFull
  base64Encode base64Decode tryBase64Decode encodeURLComponent decodeURLComponent formatReadableSize
  formatReadableQuantity formatReadableTimeDelta soundex editDistance levenshteinDistance jaroWinklerSimilarity
  protocol domain domainWithoutWWW topLevelDomain firstSignificantSubdomain cutToFirstSignificantSubdomain port
  queryString fragment queryStringAndFragment extractURLParameter extractURLParameters extractURLParameterNames
  cutWWW cutQueryString cutFragment cutQueryStringAndFragment cutURLParameter URLHierarchy URLPathHierarchy
  IPv4NumToString IPv4StringToNum IPv6NumToString IPv6StringToNum toIPv4 toIPv6 toIPv4OrNull toIPv6OrNull
  isIPv4String isIPv6String isIPAddressInRange IPv4CIDRToRange IPv4ToIPv6
  JSONExtract JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool JSONExtractRaw
  JSONExtractArrayRaw JSONExtractKeys JSONExtractKeysAndValues JSONHas JSONLength JSONType JSON_VALUE JSON_QUERY
  JSON_EXISTS simpleJSONExtractString simpleJSONExtractInt simpleJSONExtractUInt simpleJSONExtractFloat
  simpleJSONExtractBool simpleJSONExtractRaw simpleJSONHas toJSONString JSONAllPaths dynamicType dynamicElement
  variantType variantElement
  array arrayElement arrayElementOrNull arrayConcat arraySlice arrayDistinct arrayUniq arraySort arrayReverseSort
  arrayReverse arrayCompact arrayFlatten arrayEnumerate arrayIntersect arrayZip arrayPushBack arrayPushFront
  arrayPopBack arrayPopFront arrayMap arrayFilter arrayExists arrayAll arrayCount arraySum arrayAvg arrayMin arrayMax
  arrayProduct arrayFirst arrayLast arrayFirstIndex arrayLastIndex arrayFirstOrNull arrayLastOrNull arrayCumSum
  arrayDifference has hasAll hasAny hasSubstr indexOf countEqual
  map mapKeys mapValues mapContains mapContainsKey mapContainsKeyLike mapContainsValue mapFilter mapApply mapExists
  mapAll mapFromArrays mapAdd mapSubtract mapSort extractKeyValuePairs
  tuple tupleElement tupleConcat
  toString toFixedString toStringCutToZero toBool toUUID toUUIDOrNull toUUIDOrZero
  toInt8 toInt16 toInt32 toInt64 toInt128 toInt256 toUInt8 toUInt16 toUInt32 toUInt64 toUInt128 toUInt256
  toInt8OrNull toInt16OrNull toInt32OrNull toInt64OrNull toUInt8OrNull toUInt16OrNull toUInt32OrNull toUInt64OrNull
  toInt8OrZero toInt16OrZero toInt32OrZero toInt64OrZero toUInt8OrZero toUInt16OrZero toUInt32OrZero toUInt64OrZero
  toInt64OrDefault toUInt64OrDefault toFloat32 toFloat64 toFloat32OrNull toFloat64OrNull toFloat32OrZero
  toFloat64OrZero toFloat64OrDefault toDecimal32 toDecimal64 toDecimal128 toDecimal64OrNull toDecimal64OrZero
  accurateCastOrNull toTypeName toLowCardinality reinterpretAsUInt64 reinterpretAsInt64 reinterpretAsString
  toDate toDate32 toDateTime toDateTime64 toDateOrNull toDateTimeOrNull toDateTime64OrNull toDateOrZero
  toDateTimeOrZero parseDateTime parseDateTimeOrNull parseDateTimeBestEffort parseDateTimeBestEffortOrNull
  parseDateTime64BestEffort parseDateTime64BestEffortOrNull fromUnixTimestamp fromUnixTimestamp64Milli
  fromUnixTimestamp64Micro fromUnixTimestamp64Nano fromUnixTimestamp64Second toUnixTimestamp toUnixTimestamp64Milli
  toUnixTimestamp64Micro toUnixTimestamp64Nano toUnixTimestamp64Second makeDate makeDateTime makeDateTime64
  toTimeZone timeZoneOf timeZoneOffset toYear toQuarter toMonth toDayOfYear toDayOfMonth toDayOfWeek toHour toMinute
  toSecond toMillisecond toISOYear toISOWeek toWeek toYearWeek toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss toStartOfYear
  toStartOfISOYear toStartOfQuarter toStartOfMonth toMonday toStartOfWeek toLastDayOfMonth toStartOfDay toStartOfHour
  toStartOfMinute toStartOfSecond toStartOfFiveMinutes toStartOfTenMinutes toStartOfFifteenMinutes toStartOfInterval
  toStartOfMillisecond toRelativeDayNum toRelativeHourNum toDaysSinceYearZero timeSlot dateDiff dateName dateTrunc
  monthName formatDateTime formatDateTimeInJodaSyntax age addYears addMonths addWeeks addDays addHours addMinutes
  addSeconds addMilliseconds subtractYears subtractMonths subtractWeeks subtractDays subtractHours subtractMinutes
  subtractSeconds DATE_TRUNC date_diff toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek
  toIntervalMonth toIntervalQuarter toIntervalYear snowflakeIDToDateTime UUIDv7ToDateTime
  now now64 today yesterday
  cityHash64 sipHash64 sipHash128 xxHash32 xxHash64 xxh3 murmurHash2_32 murmurHash2_64 murmurHash3_32 murmurHash3_64
  murmurHash3_128 farmHash64 metroHash64 javaHash intHash32 intHash64 MD5 SHA1 SHA224 SHA256 SHA512 CRC32 halfMD5
  wyHash64 URLHash geoDistance greatCircleDistance geohashEncode geoToH3 pointInPolygon
  emptyArrayString emptyArrayUInt64 emptyArrayFloat64 defaultValueOfTypeName
`;

const byLowerCase = new Map(
  names
    .trim()
    .split(/\s+/)
    .map((name) => [name.toLowerCase(), name]),
);

const volatileFunctions = new Set(["now", "now64", "today", "yesterday"]);

/** The engine's spelling of an allowed function, whatever the case it was written in; undefined when not allowed. */
export function allowedFunction(name: string): string | undefined {
  return byLowerCase.get(name.toLowerCase());
}

/** True for a function whose value depends on when it runs. */
export function isVolatile(name: string): boolean {
  return volatileFunctions.has(name);
}

export function allowedFunctions(): string[] {
  return [...byLowerCase.values()];
}
