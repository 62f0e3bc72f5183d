import java.time.Duration;
import java.util.*;
import java.util.regex.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;

/** Counts what lies in topics with Kafka's own consumer: committed messages that match, their ids' sum, and the others. */
public class KafkaTopicAudit {
  public static void main(String[] args) {
    Properties config = new Properties();
    config.put("bootstrap.servers", args[0]);
    config.put("isolation.level", "read_committed");
    config.put("enable.auto.commit", "false");
    config.put("allow.auto.create.topics", "false");
    Pattern good = Pattern.compile(args[2]);
    long goods = 0, sum = 0, bads = 0, tombstones = 0;
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (String topic : args[1].split(","))
        for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition)))
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
          if (record.value() == null || record.value().isEmpty()) { tombstones += 1; continue; }
          Matcher match = good.matcher(record.value());
          if (!match.find()) bads += 1;
          else { goods += 1; sum += Long.parseLong(match.group(1)); }
        }
    }
    System.out.println("{\"good\":" + goods + ",\"sum\":" + sum + ",\"bad\":" + bads + ",\"tombstones\":" + tombstones + "}");
  }
}
