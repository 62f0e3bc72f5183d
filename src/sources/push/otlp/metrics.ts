/** Data points as rows of the tables of metrics, one for each kind of metric. */
import { Block, type Bytes, Ends } from "./columns.ts";
import { collect, Found } from "./found.ts";
import { eachRecord, type Origin } from "./records.ts";
import { Attributes } from "./values.ts";
import { bigVarintAt, delimited, type Fields, varintEnd, zigzagAt } from "./wire.ts";

/** Number of the field of a `Metric` with the points of its kind. */
const kindFields = { gauge: 5, sum: 7, histogram: 9, exponential: 10, summary: 11 };

/** What the points of a metric have in common. */
type Metric = { readonly found: Found; readonly temporality: number; readonly isMonotonic: boolean };

export class Metrics {
  readonly gauge = new NumberPoints(false);
  readonly sum = new NumberPoints(true);
  readonly histogram = new HistogramPoints();
  readonly exponential = new ExponentialPoints();
  readonly summary = new SummaryPoints();
  readonly #metric = new Found();
  readonly #data = new Found();

  add(body: Buffer): void {
    eachRecord(body, (metric, origin) => this.#add(metric, origin));
  }

  #add(fields: Fields, origin: Origin): void {
    const found = this.#metric;
    collect(found, fields);
    for (const kind of Object.keys(kindFields) as (keyof typeof kindFields)[]) {
      const number = kindFields[kind];
      if (!found.has(number)) continue;
      collect(this.#data, found.inside(number));
      const metric = { found, temporality: this.#data.number(2), isMonotonic: this.#data.number(3) !== 0 };
      const points = found.inside(number);
      while (points.next()) if (points.field === 1) this[kind].add(points.inside(), metric, origin);
    }
  }
}

/** The columns that all the tables have. */
abstract class Points {
  readonly block = new Block();
  readonly #resource = this.block.map("ResourceAttributes");
  readonly #resourceUrl = this.block.text("ResourceSchemaUrl");
  readonly #scopeName = this.block.text("ScopeName");
  readonly #scopeVersion = this.block.text("ScopeVersion");
  readonly #scope = this.block.map("ScopeAttributes");
  readonly #scopeDropped = this.block.plain("ScopeDroppedAttrCount", "UInt32");
  readonly #scopeUrl = this.block.text("ScopeSchemaUrl");
  readonly #serviceName = this.block.text("ServiceName");
  readonly #name = this.block.text("MetricName");
  readonly #description = this.block.text("MetricDescription");
  readonly #unit = this.block.text("MetricUnit");
  readonly #attributes = this.block.map("Attributes");
  readonly #start = this.block.plain("StartTimeUnix", "DateTime64(9)");
  readonly #time = this.block.plain("TimeUnix", "DateTime64(9)");
  readonly #flags = this.block.plain("Flags", "UInt32");
  readonly #point = new Found();
  readonly #own = new Attributes();
  readonly #numbers: PointFields;

  constructor(numbers: PointFields) {
    this.#numbers = numbers;
  }

  add(fields: Fields, metric: Metric, origin: Origin): void {
    const { attributes, flags } = this.#numbers;
    const point = this.#point;
    point.begin(fields);
    this.#own.clear();
    while (fields.next()) {
      if (fields.field === attributes) this.#own.add(fields);
      else if (!this.takes(fields)) point.take(fields);
    }
    this.#own.write(this.#attributes);
    point.eight(2, this.#start);
    point.eight(3, this.#time);
    this.#flags.uint32(point.number(flags));
    metric.found.text(1, this.#name);
    metric.found.text(2, this.#description);
    metric.found.text(3, this.#unit);
    this.#origin(origin);
    this.write(point, metric);
    this.block.rows += 1;
  }

  /** True for a field of which there may be several. */
  protected abstract takes(fields: Fields): boolean;
  protected abstract write(point: Found, metric: Metric): void;

  #origin(origin: Origin): void {
    this.#serviceName.text(origin.serviceName);
    this.#resource.add(origin.resource);
    this.#resourceUrl.text(origin.resourceUrl);
    this.#scopeName.text(origin.scopeName);
    this.#scopeVersion.text(origin.scopeVersion);
    this.#scope.add(origin.scope);
    this.#scopeDropped.uint32(origin.scopeDropped);
    this.#scopeUrl.text(origin.scopeUrl);
  }
}

/** Numbers of fields, which differ between the kinds of points. */
type PointFields = { readonly attributes: number; readonly flags: number };

/** The exemplars of points. */
class Exemplars {
  readonly #ends = new Ends();
  readonly #attributes;
  readonly #times;
  readonly #values;
  readonly #spans;
  readonly #traces;
  readonly #found = new Found();
  readonly #own = new Attributes();
  #count = 0;

  constructor(block: Block) {
    const ends = this.#ends;
    this.#attributes = block.mapList("Exemplars.FilteredAttributes", ends);
    this.#times = block.list("Exemplars.TimeUnix", "DateTime64(9)", ends);
    this.#values = block.list("Exemplars.Value", "Float64", ends);
    this.#spans = block.list("Exemplars.SpanId", "String", ends);
    this.#traces = block.list("Exemplars.TraceId", "String", ends);
  }

  add(fields: Fields): void {
    const found = this.#found;
    collect(found, fields, 7, this.#own);
    this.#own.write(this.#attributes);
    found.eight(2, this.#times);
    writeNumber(found, 3, this.#values);
    idOf(found, 4, 8, this.#spans);
    idOf(found, 5, 16, this.#traces);
    this.#count += 1;
  }

  /** The point has no more of them. */
  end(): void {
    this.#ends.add(this.#count);
    this.#count = 0;
  }
}

/** An id of an exemplar: without one it is all zeros. */
function idOf(found: Found, field: number, bytes: 8 | 16, to: Bytes): void {
  if (found.isEmpty(field)) to.hex(zeros, 0, bytes);
  else found.hex(field, to);
}

const zeros = Buffer.alloc(16);

/** A value is a double or, with the number 6, an integer, which becomes one. */
function writeNumber(found: Found, double: number, to: Bytes): void {
  if (found.has(6)) to.double(Number(BigInt.asIntN(64, found.fixed64(6))));
  else found.eight(double, to);
}

class NumberPoints extends Points {
  readonly #value = this.block.plain("Value", "Float64");
  readonly #temporality;
  readonly #isMonotonic;
  readonly #exemplars = new Exemplars(this.block);

  constructor(isSum: boolean) {
    super({ attributes: 7, flags: 8 });
    this.#temporality = isSum ? this.block.plain("AggregationTemporality", "Int32") : undefined;
    this.#isMonotonic = isSum ? this.block.plain("IsMonotonic", "Bool") : undefined;
  }

  protected takes(fields: Fields): boolean {
    if (fields.field !== 5) return false;
    this.#exemplars.add(fields.inside());
    return true;
  }

  protected write(point: Found, { temporality, isMonotonic }: Metric): void {
    writeNumber(point, 4, this.#value);
    this.#exemplars.end();
    this.#temporality?.uint32(temporality);
    this.#isMonotonic?.byte(isMonotonic ? 1 : 0);
  }
}

/** What histograms of both kinds have. */
abstract class Distributions extends Points {
  readonly #count = this.block.plain("Count", "UInt64");
  readonly #sum = this.block.plain("Sum", "Float64");
  readonly #min = this.block.plain("Min", "Float64");
  readonly #max = this.block.plain("Max", "Float64");
  readonly #temporality = this.block.plain("AggregationTemporality", "Int32");
  readonly #exemplars = new Exemplars(this.block);
  readonly #fields: DistributionFields;

  constructor(fields: DistributionFields) {
    super(fields);
    this.#fields = fields;
  }

  protected takes(fields: Fields): boolean {
    if (fields.field !== this.#fields.exemplars) return false;
    this.#exemplars.add(fields.inside());
    return true;
  }

  protected write(point: Found, { temporality }: Metric): void {
    const { min, max } = this.#fields;
    point.eight(4, this.#count);
    point.eight(5, this.#sum);
    point.eight(min, this.#min);
    point.eight(max, this.#max);
    this.#temporality.uint32(temporality);
    this.#exemplars.end();
  }
}

type DistributionFields = PointFields & { readonly exemplars: number; readonly min: number; readonly max: number };

class HistogramPoints extends Distributions {
  readonly #counts = new Ends();
  readonly #bounds = new Ends();
  readonly #bucketCounts = this.block.list("BucketCounts", "UInt64", this.#counts);
  readonly #explicitBounds = this.block.list("ExplicitBounds", "Float64", this.#bounds);
  #pending = { counts: 0, bounds: 0 };

  constructor() {
    super({ attributes: 9, flags: 10, exemplars: 8, min: 11, max: 12 });
  }

  protected override takes(fields: Fields): boolean {
    // Packed or not, the bytes are those of the column.
    if (fields.field === 6) {
      this.#bucketCounts.copy(fields.bytes, fields.from, fields.to);
      this.#pending.counts += (fields.to - fields.from) / 8;
      return true;
    }
    if (fields.field === 7) {
      this.#explicitBounds.copy(fields.bytes, fields.from, fields.to);
      this.#pending.bounds += (fields.to - fields.from) / 8;
      return true;
    }
    return super.takes(fields);
  }

  protected override write(point: Found, metric: Metric): void {
    super.write(point, metric);
    this.#counts.add(this.#pending.counts);
    this.#bounds.add(this.#pending.bounds);
    this.#pending = { counts: 0, bounds: 0 };
  }
}

class ExponentialPoints extends Distributions {
  readonly #scale = this.block.plain("Scale", "Int32");
  readonly #zeroCount = this.block.plain("ZeroCount", "UInt64");
  readonly #positive = new Buckets(this.block, "Positive");
  readonly #negative = new Buckets(this.block, "Negative");

  constructor() {
    super({ attributes: 1, flags: 10, exemplars: 11, min: 12, max: 13 });
  }

  protected override write(point: Found, metric: Metric): void {
    super.write(point, metric);
    this.#scale.uint32(point.zigzag(6));
    point.eight(7, this.#zeroCount);
    this.#positive.add(point.inside(8));
    this.#negative.add(point.inside(9));
  }
}

/** The buckets of one sign. */
class Buckets {
  readonly #offset;
  readonly #ends = new Ends();
  readonly #counts;

  constructor(block: Block, sign: "Positive" | "Negative") {
    this.#offset = block.plain(`${sign}Offset`, "Int32");
    this.#counts = block.list(`${sign}BucketCounts`, "UInt64", this.#ends);
  }

  add(fields: Fields): void {
    const { bytes } = fields;
    let [offset, count] = [0, 0];
    while (fields.next()) {
      const { field, from, to, wire } = fields;
      if (field === 1) offset = zigzagAt(bytes, from);
      if (field !== 2) continue;
      const end = wire === delimited ? to : from + 1;
      for (let at = from; at < end; at = varintEnd(bytes, at, to)) {
        this.#counts.bigUint64(bigVarintAt(bytes, at));
        count += 1;
      }
    }
    this.#offset.uint32(offset);
    this.#ends.add(count);
  }
}

class SummaryPoints extends Points {
  readonly #count = this.block.plain("Count", "UInt64");
  readonly #sum = this.block.plain("Sum", "Float64");
  readonly #ends = new Ends();
  readonly #quantiles = this.block.list("ValueAtQuantiles.Quantile", "Float64", this.#ends);
  readonly #values = this.block.list("ValueAtQuantiles.Value", "Float64", this.#ends);
  readonly #found = new Found();
  #pending = 0;

  constructor() {
    super({ attributes: 7, flags: 8 });
  }

  protected takes(fields: Fields): boolean {
    if (fields.field !== 6) return false;
    collect(this.#found, fields.inside());
    this.#found.eight(1, this.#quantiles);
    this.#found.eight(2, this.#values);
    this.#pending += 1;
    return true;
  }

  protected write(point: Found): void {
    point.eight(4, this.#count);
    point.eight(5, this.#sum);
    this.#ends.add(this.#pending);
    this.#pending = 0;
  }
}
