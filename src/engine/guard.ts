/**
 * What SQL may not say, because the engine's own grants do not cover it: the embedded engine takes itself for a local
 * tool, in which the scalar function `file` reads any file, dictionaries run programs and disks name host folders.
 * Every rule here was a statement that worked; `test/real/attacks.real.test.ts` runs them all.
 */
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { isPunctuation, isWord, type Token, tokenize } from "../clickhouse/lexer.ts";

/** A setting without a meaning here, in which the client's query id travels. */
export const tagSetting = "stream_like_engine_insert_queue";

/** Settings of our own, and those that decide whether data may contain expressions. */
const reservedSettings = new Set([
  tagSetting,
  "input_format_values_interpret_expressions",
  "input_format_values_deduce_templates_of_expressions",
]);

/** Throws for a setting that clients may not change. */
export function guardSetting(name: string): void {
  if (!reservedSettings.has(name)) return;
  throw new ClickHouseException(452, "SETTING_CONSTRAINT_VIOLATION", `Setting ${name} should not be changed.`);
}

/** The id that the client knows a running query by, as an expression over `system.processes`. */
export const clientQueryId = `if(Settings['${tagSetting}'] = '', query_id, Settings['${tagSetting}'])`;

/** Functions and table functions that reach files, programs or other parsers. */
const deniedFunctions = new Set(
  "file executable eval filesystem arrowstream python catboostEvaluate fileCluster sqlite odbc jdbc".split(" "),
);

/** Table engines that keep their data in the data directory or in object storage, and run nothing. */
const allowedEngines = new Set(
  `MergeTree ReplacingMergeTree SummingMergeTree AggregatingMergeTree CollapsingMergeTree VersionedCollapsingMergeTree
  CoalescingMergeTree GraphiteMergeTree Memory Null Set Join Log TinyLog StripeLog Buffer Merge View MaterializedView
  WindowView Alias Dictionary GenerateRandom TimeSeries S3 GCS COSN OSS AzureBlobStorage Iceberg IcebergS3 IcebergAzure
  DeltaLake DeltaLakeS3 DeltaLakeAzure Hudi Atomic Ordinary`.split(/\s+/),
);

/** Functions whose first argument may be the bare name of another function. */
const higherOrder = /^(?:apply|(?:array|map)[A-Z][A-Za-z]*)$/i;

/** Table functions that take the table's structure as a text, in which DEFAULT may hold an expression. */
const structured =
  /^(?:format|values|input|generateRandom|fuzzJSON|null|(?:s3|gcs|oss|cosn|azureBlobStorage|iceberg\w*|deltaLake\w*|hudi\w*|paimon\w*)(?:Cluster)?)$/;
const callsInStructured = new Set(["headers", "extra_credentials", "tuple"]);
const defaults = /^(?:DEFAULT|MATERIALIZED|ALIAS|EPHEMERAL|TTL)$/i;

export type GuardContext = {
  /** From the control plane itself: backups are allowed. */
  readonly trusted: boolean;
  /** Bound parameters, whose texts may become names and structures. */
  readonly params: readonly (readonly [string, string])[];
};

/** Throws when the statement says what no client may say. `tokens` is the whole statement without inline data. */
export function guardStatement(tokens: readonly Token[], context: GuardContext): void {
  const verb = tokens.find((token) => !isPunctuation(token, "("))?.text.toUpperCase() ?? "";
  for (const [at, token] of tokens.entries()) {
    if (token.kind === "unterminated")
      throw clickHouseException("SYNTAX_ERROR", "Syntax error: a quote is not closed.");
    guardToken(tokens, at, token);
    if (token.kind === "string") guardText(token.value);
    if (isCall(tokens, at) && structured.test(token.value)) guardStructure(tokens, at);
  }
  for (const [, value] of context.params) {
    guardText(value);
    if (deniedFunctions.has(value.trim().replace(/^[`"]|[`"]$/g, ""))) guardIdentifierParameters(tokens, value);
  }
  if (verb === "CREATE" || verb === "ATTACH" || verb === "REPLACE") guardDefinition(tokens);
  if ((verb === "BACKUP" || verb === "RESTORE") && !context.trusted)
    refuse(`${verb} is not available over this interface.`);
}

/**
 * True when the text of VALUES data may be parsed with expressions in it. Only `file` is looked for, spelled out or
 * hidden behind escapes in a quoted name; what is suspicious is tokenised.
 */
export function valuesAreHarmless(data: Buffer, maxBytes: number): boolean {
  const quotedEscape = data.includes(0x5c) && (data.includes(0x60) || data.includes(0x22) || data.includes(0xe2));
  if (!quotedEscape && ![...deniedFunctions].some((name) => data.includes(name))) return true;
  if (data.length > maxBytes) return false;
  const tokens = tokenize(data.toString());
  return !tokens.some(
    (token, at) => token.kind !== "string" && isDeniedName(token) && !isPunctuation(tokens[at - 1], "."),
  );
}

function guardToken(tokens: readonly Token[], at: number, token: Token): void {
  const next = tokens[at + 1];
  if (isWord(token, "INTO") && isWord(next, "OUTFILE")) refuseFiles();
  if (isWord(token, "FROM") && isWord(next, "INFILE")) refuseFiles();
  if (isNameToken(token)) guardSetting(token.value);
  if (isName(token, "disk") && isPunctuation(next, "(") && isPunctuation(tokens[at - 1], "=")) {
    refuse("Disks cannot be defined in SQL.");
  }
  if (!isDeniedName(token)) return;
  if (isPunctuation(next, "(") || isFunctionArgument(tokens, at)) refuse(`Function ${token.value} is not available.`);
}

/** `arrayMap(file, ...)`, `APPLY(file)`, `APPLY file`, also with more parentheses around the name. */
function isFunctionArgument(tokens: readonly Token[], at: number): boolean {
  let before = at - 1;
  while (isPunctuation(tokens[before], "(")) before -= 1;
  const caller = tokens[before];
  if (caller === undefined || !isNameToken(caller) || !higherOrder.test(caller.value)) return false;
  return before < at - 1 || isWord(caller, "APPLY");
}

/** Text inside a string: a column with a default, or a query of a dictionary. */
function guardText(text: string): void {
  if (!text.includes("\\") && ![...deniedFunctions].some((name) => text.includes(name))) return;
  const tokens = tokenize(text);
  const from = tokens.findIndex((token) => token.kind === "word" && defaults.test(token.text));
  if (from >= 0 && tokens.slice(from).some(isDeniedName))
    refuse("A column's default uses a function that is not available.");
}

/** The arguments must be literals: a structure put together by functions or queries cannot be looked at. */
function guardStructure(tokens: readonly Token[], at: number): void {
  const name = (tokens[at] as Token).value;
  const first = tokens[at + 2];
  // The scalar function of the same name begins with its pattern.
  if (name === "format" && first?.kind === "string" && first.value.includes("{")) return;
  let depth = 1;
  for (let i = at + 2; i < tokens.length && depth > 0; i += 1) {
    const token = tokens[i] as Token;
    if (isPunctuation(token, "(")) depth += 1;
    else if (isPunctuation(token, ")")) depth -= 1;
    // Rows of `values` may compute; only its first argument can be a structure, and a tuple is none.
    if (name === "values" && isPunctuation(token, ",") && (depth === 1 || isPunctuation(first, "("))) return;
    const computed = isPunctuation(token, "||") || isWord(token, "SELECT") || isWord(token, "CASE");
    const call = isCall(tokens, i) && !callsInStructured.has(token.value);
    const alias = isNameToken(token) && !isCall(tokens, i) && isNamedElsewhere(tokens, i, at);
    if (computed || call || alias) refuse(`The arguments of table function ${name} must be literals.`);
  }
}

/** A name in the arguments that also stands elsewhere may be the alias of a computed text. */
function isNamedElsewhere(tokens: readonly Token[], at: number, call: number): boolean {
  const { value } = tokens[at] as Token;
  return tokens.some((token, i) => {
    if (i === at || i === call || !isNameToken(token) || token.value !== value) return false;
    const before = tokens[i - 1];
    return !isWord(before, "FORMAT") && !(isPunctuation(before, "(") && structured.test(tokens[i - 2]?.value ?? ""));
  });
}

function guardIdentifierParameters(tokens: readonly Token[], value: string): void {
  const asName = tokens.some((token) => token.kind === "parameter" && /:\s*Identifier\s*\}$/i.test(token.text));
  if (asName) refuse(`Function ${value} is not available.`);
}

/** Table and database engines, and the sources of dictionaries. */
function guardDefinition(tokens: readonly Token[]): void {
  const head = tokens.slice(0, 8).map((token) => token.text.toUpperCase());
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (isPunctuation(token, "(")) depth += 1;
    else if (isPunctuation(token, ")")) depth -= 1;
    const next = tokens[at + 1];
    if (depth === 0 && isWord(token, "AS") && (isPunctuation(next, "(") || isQueryStart(next))) break;
    if (depth !== 0 || !isWord(token, "ENGINE")) continue;
    const name = isPunctuation(next, "=") ? tokens[at + 2] : next;
    if (name !== undefined && isNameToken(name) && !allowedEngines.has(name.value)) {
      refuse(`Engine ${name.value} is not available.`);
    }
  }
  if (head.includes("DICTIONARY")) guardDictionary(tokens);
}

function guardDictionary(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    if (token.kind === "string") guardDictionaryQuery(token.value);
    if (!isName(token, "SOURCE", true) || !isPunctuation(tokens[at + 1], "(")) continue;
    const kind = tokens[at + 2]?.value.toUpperCase();
    if (kind !== "CLICKHOUSE" && kind !== "NULL") refuse(`Dictionary source ${kind} is not available.`);
    let depth = 1;
    for (let i = at + 3; i < tokens.length && depth > 0; i += 1) {
      const inner = tokens[i] as Token;
      if (isPunctuation(inner, "(")) depth += 1;
      else if (isPunctuation(inner, ")")) depth -= 1;
      // With an address the source would be another server; without one it is this database.
      const address = ["HOST", "PORT", "SECURE", "NAME", "REPLICA"].some((key) => isName(inner, key, true));
      if (depth === 2 && address) refuse("A dictionary's source must be a table or query of this service.");
    }
  }
}

function guardDictionaryQuery(sql: string): void {
  const tokens = tokenize(sql);
  for (const [at, token] of tokens.entries()) guardToken(tokens, at, token);
}

function isQueryStart(token: Token | undefined): boolean {
  return isWord(token, "SELECT") || isWord(token, "WITH") || isWord(token, "FROM");
}

function isCall(tokens: readonly Token[], at: number): boolean {
  return isNameToken(tokens[at] as Token) && isPunctuation(tokens[at + 1], "(");
}

function isNameToken(token: Token): boolean {
  return token.kind === "word" || token.kind === "quotedIdentifier";
}

function isName(token: Token, name: string, anyCase = false): boolean {
  if (!isNameToken(token)) return false;
  return token.value === name || (anyCase && token.value.toUpperCase() === name);
}

/** A quoted name with escapes in it may spell anything. */
function isDeniedName(token: Token): boolean {
  if (token.kind === "quotedIdentifier" && token.text.includes("\\")) return true;
  return isNameToken(token) && deniedFunctions.has(token.value);
}

function refuseFiles(): never {
  refuse("INTO OUTFILE and FROM INFILE are not available over HTTP.");
}

function refuse(message: string): never {
  throw clickHouseException("ACCESS_DENIED", message);
}
