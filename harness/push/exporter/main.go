// Writes random telemetry as OTLP requests to files, and exports the same with the collector's ClickHouse exporter.
//
//	exporter FOLDER ENDPOINT DATABASE PASSWORD SEED COUNT
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/clickhouseexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var texts = []string{"", "a", "GET /", "<b>&\"quoted\"\\", "日本語", "line\nbreak\ttab\x01", "x\u2028y", "🦀 and more", string(make([]byte, 3)), longText()}

func longText() string {
	long := make([]byte, 300)
	for at := range long {
		long[at] = byte('a' + at%26)
	}
	return string(long)
}

var numbers = []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e-7, 1e21, 123456789.125, math.MaxFloat64, math.Inf(1), math.NaN(), 1e20, 5e-324}

type random struct{ *rand.Rand }

func (r random) text() string { return texts[r.Intn(len(texts))] }

func (r random) number() float64 { return numbers[r.Intn(len(numbers))] }

// A number where the encoder of the requests leaves -0 out, as if it were 0.
func (r random) withoutSign() float64 {
	number := r.number()
	if number == 0 {
		return 0
	}
	return number
}

func (r random) time() pcommon.Timestamp {
	return pcommon.Timestamp(uint64(1_790_000_000_000_000_000) + uint64(r.Int63n(3_600_000_000_000)))
}

func (r random) value(to pcommon.Value, depth int) {
	kinds := 8
	if depth > 2 {
		kinds = 6
	}
	switch r.Intn(kinds) {
	case 0:
		to.SetStr(r.text())
	case 1:
		to.SetInt([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 42}[r.Intn(6)])
	case 2:
		to.SetDouble(r.number())
	case 3:
		to.SetBool(r.Intn(2) == 0)
	case 4:
		to.SetEmptyBytes().FromRaw([]byte(r.text()))
	case 5: // Without a value.
	case 6:
		list := to.SetEmptySlice()
		for n := r.Intn(4); n > 0; n-- {
			r.value(list.AppendEmpty(), depth+1)
		}
	case 7:
		inner := to.SetEmptyMap()
		for n := r.Intn(4); n > 0; n-- {
			r.value(inner.PutEmpty(r.text()+strconv.Itoa(n)), depth+1)
		}
	}
}

func (r random) attributes(to pcommon.Map) {
	for n := r.Intn(9); n > 0; n-- {
		r.value(to.PutEmpty("key."+strconv.Itoa(r.Intn(30))), 0)
	}
}

func (r random) resource(to pcommon.Resource) {
	r.attributes(to.Attributes())
	switch r.Intn(4) {
	case 0:
		to.Attributes().PutInt("service.name", 7)
	case 1, 2:
		to.Attributes().PutStr("service.name", "shop"+r.text())
	}
	to.Attributes().PutStr("k8s.pod.name", "pod")
}

func (r random) scope(to pcommon.InstrumentationScope) {
	to.SetName(r.text())
	to.SetVersion(r.text())
	to.SetDroppedAttributesCount(uint32(r.Intn(300)))
	r.attributes(to.Attributes())
}

func (r random) traceID() pcommon.TraceID {
	var id pcommon.TraceID
	if r.Intn(4) > 0 {
		r.Read(id[:])
	}
	return id
}

func (r random) spanID() pcommon.SpanID {
	var id pcommon.SpanID
	if r.Intn(4) > 0 {
		r.Read(id[:])
	}
	return id
}

func (r random) traces() ptrace.Traces {
	all := ptrace.NewTraces()
	for resources := 1 + r.Intn(3); resources > 0; resources-- {
		of := all.ResourceSpans().AppendEmpty()
		r.resource(of.Resource())
		of.SetSchemaUrl(r.text())
		for scopes := 1 + r.Intn(2); scopes > 0; scopes-- {
			scope := of.ScopeSpans().AppendEmpty()
			r.scope(scope.Scope())
			for n := r.Intn(6); n > 0; n-- {
				r.span(scope.Spans().AppendEmpty())
			}
		}
	}
	return all
}

func (r random) span(to ptrace.Span) {
	to.SetTraceID(r.traceID())
	to.SetSpanID(r.spanID())
	to.SetParentSpanID(r.spanID())
	to.TraceState().FromRaw(r.text())
	to.SetName(r.text())
	to.SetKind(ptrace.SpanKind(r.Intn(7)))
	start := r.time()
	to.SetStartTimestamp(start)
	to.SetEndTimestamp(start + pcommon.Timestamp(r.Int63n(1e12)))
	r.attributes(to.Attributes())
	to.Status().SetCode(ptrace.StatusCode(r.Intn(4)))
	to.Status().SetMessage(r.text())
	for n := r.Intn(3); n > 0; n-- {
		event := to.Events().AppendEmpty()
		event.SetName(r.text())
		event.SetTimestamp(r.time())
		r.attributes(event.Attributes())
	}
	for n := r.Intn(3); n > 0; n-- {
		link := to.Links().AppendEmpty()
		link.SetTraceID(r.traceID())
		link.SetSpanID(r.spanID())
		link.TraceState().FromRaw(r.text())
		r.attributes(link.Attributes())
	}
}

func (r random) logs() plog.Logs {
	all := plog.NewLogs()
	for resources := 1 + r.Intn(3); resources > 0; resources-- {
		of := all.ResourceLogs().AppendEmpty()
		r.resource(of.Resource())
		of.SetSchemaUrl(r.text())
		scope := of.ScopeLogs().AppendEmpty()
		r.scope(scope.Scope())
		scope.SetSchemaUrl(r.text())
		for n := r.Intn(6); n > 0; n-- {
			record := scope.LogRecords().AppendEmpty()
			record.SetObservedTimestamp(r.time())
			if r.Intn(3) > 0 {
				record.SetTimestamp(r.time())
			}
			record.SetSeverityNumber(plog.SeverityNumber(r.Intn(25)))
			record.SetSeverityText(r.text())
			r.value(record.Body(), 0)
			r.attributes(record.Attributes())
			record.SetFlags(plog.LogRecordFlags(r.Intn(2)))
			record.SetTraceID(r.traceID())
			record.SetSpanID(r.spanID())
			record.SetEventName(r.text())
		}
	}
	return all
}

func (r random) exemplars(to pmetric.ExemplarSlice) {
	for n := r.Intn(3); n > 0; n-- {
		one := to.AppendEmpty()
		one.SetTimestamp(r.time())
		if r.Intn(2) == 0 {
			one.SetIntValue(r.Int63n(100) - 50)
		} else {
			one.SetDoubleValue(r.number())
		}
		one.SetTraceID(r.traceID())
		one.SetSpanID(r.spanID())
		r.attributes(one.FilteredAttributes())
	}
}

func (r random) numberPoints(to pmetric.NumberDataPointSlice) {
	for n := r.Intn(4); n > 0; n-- {
		point := to.AppendEmpty()
		point.SetTimestamp(r.time())
		point.SetStartTimestamp(r.time())
		point.SetFlags(pmetric.DataPointFlags(r.Intn(2)))
		r.attributes(point.Attributes())
		r.exemplars(point.Exemplars())
		switch r.Intn(3) {
		case 0:
			point.SetIntValue(r.Int63() - r.Int63())
		case 1:
			point.SetDoubleValue(r.number())
		}
	}
}

func (r random) counts() []uint64 {
	counts := make([]uint64, r.Intn(5))
	for at := range counts {
		counts[at] = uint64(r.Int63()) >> uint(r.Intn(63))
	}
	return counts
}

func (r random) metrics() pmetric.Metrics {
	all := pmetric.NewMetrics()
	of := all.ResourceMetrics().AppendEmpty()
	r.resource(of.Resource())
	of.SetSchemaUrl(r.text())
	scope := of.ScopeMetrics().AppendEmpty()
	r.scope(scope.Scope())
	scope.SetSchemaUrl(r.text())
	for n := 1 + r.Intn(6); n > 0; n-- {
		metric := scope.Metrics().AppendEmpty()
		metric.SetName("metric." + strconv.Itoa(r.Intn(5)))
		metric.SetDescription(r.text())
		metric.SetUnit(r.text())
		temporality := pmetric.AggregationTemporality(r.Intn(3))
		switch r.Intn(5) {
		case 0:
			r.numberPoints(metric.SetEmptyGauge().DataPoints())
		case 1:
			sum := metric.SetEmptySum()
			sum.SetIsMonotonic(r.Intn(2) == 0)
			sum.SetAggregationTemporality(temporality)
			r.numberPoints(sum.DataPoints())
		case 2:
			histogram := metric.SetEmptyHistogram()
			histogram.SetAggregationTemporality(temporality)
			for m := r.Intn(3); m > 0; m-- {
				point := histogram.DataPoints().AppendEmpty()
				point.SetTimestamp(r.time())
				point.SetStartTimestamp(r.time())
				point.SetCount(uint64(r.Int63()))
				point.BucketCounts().FromRaw(r.counts())
				point.ExplicitBounds().FromRaw([]float64{1, 2.5, r.number()}[:r.Intn(4)])
				if r.Intn(2) == 0 {
					point.SetSum(r.number())
					point.SetMin(r.number())
					point.SetMax(r.number())
				}
				r.attributes(point.Attributes())
				r.exemplars(point.Exemplars())
			}
		case 3:
			histogram := metric.SetEmptyExponentialHistogram()
			histogram.SetAggregationTemporality(temporality)
			for m := r.Intn(3); m > 0; m-- {
				point := histogram.DataPoints().AppendEmpty()
				point.SetTimestamp(r.time())
				point.SetStartTimestamp(r.time())
				point.SetCount(uint64(r.Int63()))
				point.SetScale(int32(r.Intn(40) - 20))
				point.SetZeroCount(uint64(r.Intn(9)))
				point.Positive().SetOffset(int32(r.Intn(2000) - 1000))
				point.Positive().BucketCounts().FromRaw(r.counts())
				point.Negative().SetOffset(int32(r.Int63()))
				point.Negative().BucketCounts().FromRaw(r.counts())
				point.SetSum(r.number())
				r.attributes(point.Attributes())
				r.exemplars(point.Exemplars())
			}
		case 4:
			summary := metric.SetEmptySummary()
			for m := r.Intn(3); m > 0; m-- {
				point := summary.DataPoints().AppendEmpty()
				point.SetTimestamp(r.time())
				point.SetStartTimestamp(r.time())
				point.SetCount(uint64(r.Int63()))
				point.SetSum(r.withoutSign())
				r.attributes(point.Attributes())
				for q := r.Intn(4); q > 0; q-- {
					value := point.QuantileValues().AppendEmpty()
					value.SetQuantile(r.Float64())
					value.SetValue(r.withoutSign())
				}
			}
		}
	}
	return all
}

type host struct{}

func (host) GetExtensions() map[component.ID]component.Component { return nil }

func main() {
	folder, endpoint, database, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	seed, err := strconv.ParseInt(os.Args[5], 10, 64)
	check(err)
	count, err := strconv.Atoi(os.Args[6])
	check(err)
	ctx := context.Background()
	factory := clickhouseexporter.NewFactory()
	config := factory.CreateDefaultConfig()
	check(confmap.NewFromStringMap(map[string]any{
		"endpoint":      endpoint,
		"database":      database,
		"username":      "default",
		"password":      password,
		"async_insert":  false,
		"sending_queue": map[string]any{"enabled": false},
		"timeout":       "60s",
		// A request that fails is an error of the test.
		"retry_on_failure": map[string]any{"enabled": false},
	}).Unmarshal(config))
	settings := exporter.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	settings.Logger = zap.NewNop()
	traces, err := factory.CreateTraces(ctx, settings, config)
	check(err)
	logs, err := factory.CreateLogs(ctx, settings, config)
	check(err)
	metrics, err := factory.CreateMetrics(ctx, settings, config)
	check(err)
	for _, one := range []component.Component{traces, logs, metrics} {
		check(one.Start(ctx, host{}))
	}
	r := random{rand.New(rand.NewSource(seed))}
	write := func(name string, content []byte, err error) {
		check(err)
		check(os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	for n := 0; n < count; n++ {
		spans, records, points := r.traces(), r.logs(), r.metrics()
		content, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(spans)
		write(fmt.Sprintf("%04d.traces", n), content, err)
		content, err = (&plog.ProtoMarshaler{}).MarshalLogs(records)
		write(fmt.Sprintf("%04d.logs", n), content, err)
		content, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(points)
		write(fmt.Sprintf("%04d.metrics", n), content, err)
		check(traces.ConsumeTraces(ctx, spans))
		check(logs.ConsumeLogs(ctx, records))
		check(metrics.ConsumeMetrics(ctx, points))
	}
	shutdown, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, one := range []component.Component{traces, logs, metrics} {
		check(one.Shutdown(shutdown))
	}
}
