/**
 * Random statements of the engine's SQL, with functions, table functions, engines and settings that reach out of the
 * service in every position of the grammar. `Statement.dangerous` is set when one is in a position where it is code, so
 * a guard that accepts the statement has a hole.
 */
import type { Dice } from "../random.ts";
import * as bad from "./forbidden.ts";
import { literal, name, space } from "./spelling.ts";
import { anyKind } from "./statements.ts";

export type Statement = {
  readonly text: string;
  readonly params: Readonly<Record<string, string>>;
  readonly dangerous: boolean;
};

type Choice = string | (() => string);

/** Writes one statement; one object per statement. */
export class Grammar {
  readonly #dice: Dice;
  readonly #canaries: bad.Canaries;
  /** How often something forbidden is written. */
  readonly #evil: number;
  #dangerous = false;
  #depth = 0;

  constructor(dice: Dice, canaries: bad.Canaries) {
    this.#dice = dice;
    this.#canaries = canaries;
    this.#evil = dice.chance(0.5) ? 0 : 0.5;
  }

  statement(): Statement {
    const text = this.#any();
    const params = { p: "x", e: "}", n$: "5", d: "['a']", ...bad.badParameters(this.#dice, this.#canaries) };
    return { text, params, dangerous: this.#dangerous };
  }

  #any(): string {
    const select = () => this.#select();
    const explain = () =>
      this.#words(this.#one("EXPLAIN", "EXPLAIN SYNTAX", "DESCRIBE", "EXPLAIN PIPELINE"), `(${select()})`);
    const lambda = () =>
      this.#words("CREATE OR REPLACE FUNCTION", this.#one("f1", "f2"), "AS (x) ->", this.#expression());
    const set = () => this.#words("SET", this.#setting());
    if (this.#bad(0.05)) {
      const second = this.#one("CREATE TABLE pw (a Int8) ENGINE = Memory", "DROP TABLE t", "ALTER TABLE t FREEZE");
      return this.#words(this.#one("USE default", "SET max_threads = 1", "SELECT 1"), "PARALLEL WITH", second);
    }
    const defined = [() => this.#table(), () => this.#view(), () => this.#dictionary(), () => this.#alter()];
    return this.#one(
      select,
      select,
      select,
      select,
      () => this.#insert(),
      ...defined,
      lambda,
      explain,
      set,
      () => this.#one(...anyKind),
      () => this.#one(...anyKind),
      () => this.#other(),
    );
  }

  #select(): string {
    const d = this.#dice;
    this.#depth += 1;
    const parts = ["SELECT", this.#list(() => this.#item(), 1 + d.below(3))];
    if (d.chance(0.2)) parts.unshift("WITH", this.#with());
    if (d.chance(0.7)) parts.push("FROM", this.#source());
    if (d.chance(0.2)) parts.push("ARRAY JOIN", `[${this.#expression()}]`, "AS", this.#alias());
    if (d.chance(0.3)) parts.push("WHERE", this.#condition());
    if (d.chance(0.1)) parts.push("GROUP BY", this.#expression(), "HAVING", this.#condition());
    if (d.chance(0.15)) parts.push("ORDER BY", this.#expression(), this.#one("ASC", "DESC", ""));
    if (d.chance(0.2)) parts.push("LIMIT", String(d.below(5)));
    if (d.chance(0.1)) {
      parts.push(this.#one("UNION ALL", "EXCEPT", "INTERSECT"), this.#depth < 3 ? this.#select() : "SELECT 1");
    }
    if (d.chance(0.1)) parts.push("SETTINGS", this.#setting());
    if (this.#depth === 1) parts.push(...this.#output());
    this.#depth -= 1;
    return this.#words(...parts);
  }

  #output(): string[] {
    if (this.#bad(0.2)) {
      return ["INTO OUTFILE", literal(this.#dice, this.#canaries.loot), this.#one("", "APPEND", "TRUNCATE")];
    }
    return this.#dice.chance(0.1) ? ["FORMAT", this.#one("TSV", "JSONEachRow", "Null", "`CSV`")] : [];
  }

  #item(): string {
    const d = this.#dice;
    if (d.chance(0.12))
      return this.#words(this.#columns(), ...Array.from({ length: d.below(3) }, () => this.#transformer()));
    const value = this.#expression();
    return d.chance(0.25) ? this.#words(value, "AS", this.#alias()) : value;
  }

  #columns(): string {
    return this.#one("*", "t.*", "COLUMNS('a')", "COLUMNS('zzq')", "COLUMNS(a, b)", "t.COLUMNS('a')", "t.COLUMNS(a)");
  }

  #transformer(): string {
    if (this.#bad(0.3)) return this.#words("APPLY", bad.badApplied(this.#dice, this.#canaries));
    const named = () => name(this.#dice, this.#one("upper", "toString", "it's", "a) b", "a b"));
    return this.#one(
      () => this.#words("APPLY", this.#one("upper", "(toString)", "(x -> hex(x))", "quantile(0.5)", "(upper, 'p_')")),
      () => this.#words("APPLY", named()),
      () => `APPLY(${named()}, ${literal(this.#dice, this.#one("p_", "it's", "a\\"))})`,
      () => this.#words(this.#one("EXCEPT", "EXCEPT STRICT"), `(${this.#alias()})`),
      () => `EXCEPT(${this.#one("'a'", "b")})`,
      () => `REPLACE(${this.#expression()} AS ${this.#alias()})`,
    );
  }

  #with(): string {
    return this.#one(
      () => this.#words(this.#alias(), "AS", `(${this.#depth < 3 ? this.#select() : "SELECT 1"})`),
      () => this.#words(`x -> ${this.#expression()}`, "AS", "lam"),
      () => this.#words(this.#expression(), "AS", this.#alias()),
    );
  }

  /** Function names are allowed as names of other things. */
  #alias(): string {
    if (this.#dice.chance(0.03)) return "{w:Identifier}";
    return name(
      this.#dice,
      this.#one("a", "b", "file", "executable", "url", "values", "it's", "a b", "x", "a) b", "count()"),
    );
  }

  #source(): string {
    const d = this.#dice;
    const kind = d.below(12);
    const deep = this.#depth >= 3;
    if (kind === 0 && !deep) return this.#words(`(${this.#select()})`, "AS", this.#alias());
    if (kind === 1) return this.#words("t", "AS", this.#alias());
    if (kind === 2 && !deep) {
      return this.#words("t", this.#one("INNER", "LEFT", "GLOBAL ANY"), "JOIN", "u", "ON", this.#condition());
    }
    if (kind <= 5) return this.#tableFunction();
    // The engine treats it as a file, and grants nobody the right to read one.
    if (kind === 6 && d.chance(0.3)) return literal(d, this.#canaries.file);
    return this.#one("t", "system.one", "numbers(3)", "default.t", "`t`", "t FINAL");
  }

  #tableFunction(): string {
    const d = this.#dice;
    if (this.#bad(0.5)) return bad.badTableFunction(d, this.#canaries);
    const structure = () =>
      literal(
        d,
        this.#one(
          "a String",
          "a String, b Nullable(String)",
          "a UInt8, `b c` Enum8('x' = 1)",
          "a Array(DateTime64(3, 'UTC'))",
          "a String,b Tuple(c UInt8)",
        ),
      );
    return this.#one(
      () => `generateRandom(${structure()}, 1) LIMIT 2`,
      () => `values(${structure()}, (1, 'x'))`,
      () => `values((${this.#expression()}, 1))`,
      () => `format(JSONEachRow, ${structure()}, ${literal(d, '{"a":"1","b":"2"}')})`,
      () => `format(TSV, ${literal(d, "1\t2")})`,
      () => `view(${this.#depth < 3 ? this.#select() : "SELECT 1"})`,
      () => `null(${structure()})`,
      "merge(currentDatabase(), '^t')",
      "dictionary('rx')",
    );
  }

  #expression(): string {
    const d = this.#dice;
    this.#depth += 0.34;
    const text = this.#bad(0.2)
      ? bad.badExpression(d, this.#canaries)
      : this.#depth > 4
        ? this.#leaf()
        : this.#one(
            () => this.#leaf(),
            () => this.#call(),
          );
    this.#depth -= 0.34;
    return text;
  }

  #leaf(): string {
    const text = () => literal(this.#dice, this.#one("x", "it's", "file('x')", "a\\b", "2020-01-01"));
    const parameter = () => this.#one("{p:String}", "{e:Enum8('}'=1)}", "{n$:Int32}", "{ d : Array(String) }");
    return this.#one(text, text, () => String(this.#dice.below(100)), "now()", "NULL", "currentUser()", parameter);
  }

  #call(): string {
    const e = () => this.#expression();
    return this.#one(
      () => this.#words(`${name(this.#dice, "concat")}(${e()}`, ",", `${e()})`),
      () => this.#words("CASE WHEN", this.#condition(), "THEN", e(), "ELSE", e(), "END"),
      () => `arrayMap(x -> ${e()}, [1, 2])`,
      () => `arrayMap(${this.#one("upper", "toString", "hex")}, ['a'])`,
      () => `(${e()}, ${e()})`,
      () => `CAST(${e()} AS ${this.#one("String", "Nullable(String)")})`,
      () => `toString(${e()})::String`,
      () => `(SELECT count() FROM t WHERE ${this.#condition()})`,
      () => this.#words("if(", this.#condition(), ",", e(), ",", e(), ")"),
      () => `format('{} {}', ${e()}, 1)`,
      () => `sum(length(toString(${e()}))) OVER ()`,
      () => `countIf(${this.#condition()})`,
      "date_add(DAY, 1, now())",
      () => `map('file', ${e()})['x']`,
      () => `formatQuerySingleLine(${literal(this.#dice, "SELECT file('x')")})`,
    );
  }

  #condition(): string {
    const e = () => this.#expression();
    return this.#one(
      () => `${e()} = ${e()}`,
      () => `${e()} IN (${e()})`,
      "1",
      () => `${e()} IS NOT NULL`,
      "a BETWEEN '1' AND '2'",
      () => `NOT ${e()} LIKE '%'`,
    );
  }

  #insert(): string {
    const d = this.#dice;
    const columns = this.#one("", "(a)", "(a, b)");
    const head = this.#words("INSERT INTO", this.#one("", "TABLE"), this.#one("t", "default.t", "`t`"), columns);
    const input = () => literal(d, this.#bad(0.3) ? bad.badStructure(d, this.#canaries) : "a String");
    if (this.#bad(0.1))
      return `INSERT INTO FUNCTION file(${literal(d, this.#canaries.loot)}, 'CSV', 'a String') SELECT 1`;
    // Data may hold anything: unless it is harmless, only literals are read from it.
    const data = () => new Grammar(d, this.#canaries).#expression();
    return this.#one(
      `${head} FORMAT CSV\nx,y\n`,
      `${head} VALUES ('x', 'y')`,
      () => `${head} VALUES (${data()}, ${data()})`,
      () => `${head} ${this.#select()}`,
      () => `${head} SELECT a, ${this.#expression()} FROM input(${input()}) FORMAT CSV\nx\n`,
      `${head} FORMAT JSONEachRow {"a":"1"}`,
    );
  }

  #table(): string {
    const d = this.#dice;
    const e = () => this.#expression();
    const kind = () =>
      this.#one(
        "",
        "",
        () => `DEFAULT ${e()}`,
        () => `MATERIALIZED ${e()}`,
        () => `ALIAS ${e()}`,
        "CODEC(ZSTD(1))",
        "COLLATE binary",
      );
    const column = this.#words(this.#alias(), this.#one("String", "UInt64", "Array(String)"), kind());
    const extra = this.#one(
      "",
      () => `, INDEX i ${e()} TYPE minmax`,
      () => `, CONSTRAINT c CHECK ${e()}`,
      () => `, PROJECTION p (SELECT ${e()} ORDER BY k)`,
    );
    const tree = "MergeTree ORDER BY k";
    const engine = this.#bad(0.2)
      ? bad.badEngine(d)
      : this.#one(
          tree,
          "Memory",
          "Log",
          "Null",
          () => `${tree} TTL toDateTime(${e()})`,
          () => `${tree} TTL toDateTime(k) DELETE WHERE k IN (${this.#evilQuery()})`,
          () => `${tree} TTL toDateTime(k) GROUP BY k SET ${this.#alias()} = max(${e()})`,
          () => `${tree} PARTITION BY ${e()}`,
          () => `${tree} SAMPLE BY ${e()}`,
        );
    const disk = () => `SETTINGS disk = disk(type = local, path = ${literal(d, this.#canaries.loot)})`;
    const head = this.#words("CREATE OR REPLACE TABLE", this.#one("u1", "u2"), `(k String, ${column}${extra})`);
    return this.#words(head, "ENGINE =", engine, this.#bad(0.1) ? disk() : "");
  }

  /** A list of values, or a query, which no definition may hold. */
  #evilQuery(): string {
    return this.#bad(0.5) ? this.#one("SELECT a FROM t", "SELECT 1") : "'x', 'y'";
  }

  #view(): string {
    const select = this.#select();
    const kind = this.#dice.below(6);
    if (kind === 0)
      return this.#words("CREATE MATERIALIZED VIEW mv ENGINE = MergeTree ORDER BY", this.#expression(), "AS", select);
    if (kind === 1) return this.#words("CREATE MATERIALIZED VIEW mv TO u1 AS", select);
    if (kind === 2)
      return this.#words("CREATE MATERIALIZED VIEW rv REFRESH EVERY 1 YEAR ENGINE = Memory EMPTY AS", select);
    return this.#words("CREATE OR REPLACE VIEW", this.#one("v1", "v2"), "AS", select);
  }

  #dictionary(): string {
    const d = this.#dice;
    const source = this.#bad(0.4)
      ? bad.badSource(d, this.#canaries)
      : this.#one(
          "CLICKHOUSE(TABLE 't')",
          () =>
            `CLICKHOUSE(QUERY ${literal(
              d,
              this.#ascii(() => this.#select()),
            )})`,
          () =>
            `CLICKHOUSE(TABLE 't' WHERE ${literal(
              d,
              this.#ascii(() => this.#condition()),
            )})`,
          "NULL()",
        );
    const head = "CREATE OR REPLACE DICTIONARY rx (k String, v String) PRIMARY KEY k";
    return this.#words(head, `SOURCE(${source})`, "LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)");
  }

  /** A text that fits a literal of any spelling. */
  #ascii(write: () => string): string {
    return write().replace(/[^\x00-\x7f]/g, " ");
  }

  #alter(): string {
    const e = () => this.#expression();
    const change = this.#one(
      () => `ADD COLUMN z String DEFAULT ${e()}`,
      () => `UPDATE a = ${e()} WHERE ${this.#condition()}`,
      () => `DELETE WHERE ${this.#condition()}`,
      () => `ADD CONSTRAINT c CHECK ${e()}`,
      () => `MODIFY TTL toDateTime(${e()})`,
      () => `ADD INDEX i ${e()} TYPE minmax`,
    );
    return this.#words("ALTER TABLE u1", change);
  }

  #other(): string {
    if (this.#bad(0.7)) return bad.badStatement(this.#dice, this.#canaries);
    return this.#one(
      ..."SHOW TABLES|EXISTS TABLE t|CHECK TABLE t|OPTIMIZE TABLE t|SHOW CREATE TABLE t|TRUNCATE TABLE u1|DROP TABLE IF EXISTS u2".split(
        "|",
      ),
    );
  }

  #setting(): string {
    if (this.#bad(0.3)) return bad.badSetting(this.#dice, this.#canaries);
    return this.#one(
      "max_threads = 1",
      "additional_table_filters = {'t': 'a != 1'}",
      "format_schema = ''",
      "SQL_x = 'file(1)'",
      "max_block_size = 100",
    );
  }

  /** True when something forbidden is to be written, which is then recorded. */
  #bad(weight: number): boolean {
    if (!this.#dice.chance(this.#evil * weight)) return false;
    this.#dangerous = true;
    return true;
  }

  /** One of the choices; the others are not evaluated. */
  #one(...choices: readonly Choice[]): string {
    const choice = this.#dice.pick(choices);
    return typeof choice === "string" ? choice : choice();
  }

  #list(item: () => string, count: number): string {
    return Array.from({ length: count }, item).join(`,${space(this.#dice)}`);
  }

  #words(...parts: readonly string[]): string {
    return parts.filter((part) => part !== "").join(space(this.#dice));
  }
}
