import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;

/** Reads a topic to its end with Kafka's own consumer and throws everything away; prints the seconds it took. */
public class KafkaRawConsumer {
  public static void main(String[] args) {
    Properties config = new Properties();
    config.put("bootstrap.servers", args[0]);
    config.put("isolation.level", "read_committed");
    config.put("max.poll.records", "10000");
    config.put("fetch.max.bytes", "16777216");
    config.put("max.partition.fetch.bytes", "4194304");
    long started = System.nanoTime(), count = 0;
    try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (PartitionInfo info : consumer.partitionsFor(args[1])) partitions.add(new TopicPartition(args[1], info.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long total = consumer.endOffsets(partitions).values().stream().mapToLong(Long::longValue).sum();
      while (count < total) count += consumer.poll(Duration.ofMillis(200)).count();
    }
    System.out.println((System.nanoTime() - started) / 1e9);
  }
}
