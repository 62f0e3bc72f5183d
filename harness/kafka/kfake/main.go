// A Kafka cluster in memory that is not Apache's: franz-go's kfake, for harness/kafka/kfake.ts.
//
// Prints "listening HOST:PORT", then each request as "request KEY VERSION". A line "produce TOPIC FROM TO CODEC" on
// standard input appends the messages {"id":N,"name":"name N"} and is answered by "produced". It ends with its input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func main() {
	as := flag.String("as", "", "the release of Kafka whose versions are offered, such as 2.4")
	newest := flag.String("newest", "", "KEY=VERSION,...: the newest version offered of some requests")
	topics := flag.String("topics", "", "NAME:PARTITIONS,...")
	login := flag.String("login", "", "MECHANISM:USER:PASSWORD that clients must log in with")
	flag.Parse()

	options := []kfake.Opt{kfake.NumBrokers(1), kfake.MaxVersions(versions(*as, *newest))}
	for _, topic := range split(*topics) {
		name, count, _ := strings.Cut(topic, ":")
		options = append(options, kfake.SeedTopics(int32(number(count)), name))
	}
	var client []kgo.Opt
	if parts := strings.SplitN(*login, ":", 3); len(parts) == 3 {
		options = append(options, kfake.EnableSASL(), kfake.Superuser(parts[0], parts[1], parts[2]),
			kfake.Superuser("SCRAM-SHA-512", "producer", "producer"))
		client = append(client, kgo.SASL(scram.Auth{User: "producer", Pass: "producer"}.AsSha512Mechanism()))
	}
	cluster, err := kfake.NewCluster(options...)
	must(err)
	defer cluster.Close()
	var out sync.Mutex
	say := func(line string) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(line)
	}
	cluster.Control(func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		say(fmt.Sprintf("request %d %d", request.Key(), request.GetVersion()))
		return nil, nil, false
	})
	say("listening " + cluster.ListenAddrs()[0])
	client = append(client, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		produce(client, words[1], number(words[2]), number(words[3]), codecs[words[4]], partitionsOf(*topics, words[1]))
		say("produced")
	}
}

func versions(as, newest string) *kversion.Versions {
	offered := kversion.Tip()
	if as != "" {
		offered = kversion.FromString(as)
	}
	for _, pair := range split(newest) {
		key, version, _ := strings.Cut(pair, "=")
		offered.SetMaxKeyVersion(int16(number(key)), int16(number(version)))
	}
	return offered
}

func produce(options []kgo.Opt, topic string, from, to int, codec kgo.CompressionCodec, partitions int) {
	client, err := kgo.NewClient(append(options, kgo.ProducerBatchCompression(codec))...)
	must(err)
	defer client.Close()
	for id := from; id < to; id++ {
		value := fmt.Sprintf(`{"id":%d,"name":"name %d"}`, id, id)
		record := &kgo.Record{Topic: topic, Partition: int32(id % partitions), Value: []byte(value)}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { must(err) })
	}
	must(client.Flush(context.Background()))
}

func partitionsOf(topics, topic string) int {
	for _, one := range split(topics) {
		if name, count, _ := strings.Cut(one, ":"); name == topic {
			return number(count)
		}
	}
	return 1
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(at rune) bool { return at == ',' })
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
