// Java's clients on the other side of the interop tests, in one JVM:
//   java Peer.java read BOOTSTRAP TOPIC PARTITIONS TOTAL    prints records
//   java Peer.java write BOOTSTRAP TOPIC                    reads "compress PARTITION NAME LEVEL" and records
// A record is a line: partition, offset, timestamp, key, value, then name and value of each header;
// separated by spaces, in base64, "-" for null.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Peer {
    static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        if (args[0].equals("read")) {
            read(args[1], args[2], Integer.parseInt(args[3]), Integer.parseInt(args[4]));
        } else {
            write(args[1], args[2]);
        }
        OUT.flush();
    }

    static void read(String bootstrap, String topic, int partitions, int total) {
        Map<String, Object> options = Map.of("bootstrap.servers", bootstrap, "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "isolation.level", "read_committed", "check.crcs", true);
        try (var consumer = new KafkaConsumer<>(options, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> assigned = new ArrayList<>();
            for (int partition = 0; partition < partitions; partition++) {
                assigned.add(new TopicPartition(topic, partition));
            }
            consumer.assign(assigned);
            long deadline = System.currentTimeMillis() + 30_000;
            for (int seen = 0; seen < total && System.currentTimeMillis() < deadline;) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    print(record);
                    seen++;
                }
            }
        }
    }

    static void print(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder line = new StringBuilder();
        line.append(record.partition()).append(' ').append(record.offset()).append(' ').append(record.timestamp());
        line.append(' ').append(text(record.key())).append(' ').append(text(record.value()));
        for (Header header : record.headers()) {
            line.append(' ').append(text(header.key().getBytes(StandardCharsets.UTF_8)));
            line.append(' ').append(text(header.value()));
        }
        OUT.println(line);
    }

    static void write(String bootstrap, String topic) throws Exception {
        Map<Integer, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("compress")) {
                producers.put(Integer.valueOf(words[1]), producer(bootstrap, words[2], words[3]));
                continue;
            }
            int partition = Integer.parseInt(words[0]);
            var record = new ProducerRecord<byte[], byte[]>(
                topic, partition, Long.valueOf(words[2]), bytes(words[3]), bytes(words[4]));
            for (int at = 5; at < words.length; at += 2) {
                record.headers().add(new String(bytes(words[at]), StandardCharsets.UTF_8), bytes(words[at + 1]));
            }
            producers.get(partition).send(record, (metadata, error) -> {
                if (error != null) {
                    error.printStackTrace();
                    Runtime.getRuntime().halt(3);
                }
            });
        }
        producers.values().parallelStream().forEach(KafkaProducer::close);
    }

    static KafkaProducer<byte[], byte[]> producer(String bootstrap, String compression, String level) {
        Map<String, Object> options = new HashMap<>();
        options.put("bootstrap.servers", bootstrap);
        options.put("compression.type", compression);
        options.put("linger.ms", 100);
        options.put("batch.size", 400_000);
        options.put("buffer.memory", 4_000_000);
        if (!level.equals("-")) {
            options.put("compression." + compression + ".level", Integer.valueOf(level));
        }
        return new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static String text(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }

    static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }
}
