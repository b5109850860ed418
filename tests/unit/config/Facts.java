// What Kafka's own clients know and do, as JSON: run by conftest.py with the questions in a file.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.serialization.BooleanSerializer;
import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.kafka.common.serialization.FloatSerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.ShortSerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.serialization.UUIDSerializer;

public class Facts {
    public static void main(String[] arguments) throws Exception {
        Map<?, ?> questions = new ObjectMapper().readValue(new File(arguments[0]), Map.class);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("options", Map.of(
            "producer", options(ProducerConfig.configDef()),
            "consumer", options(ConsumerConfig.configDef()),
            "admin", options(AdminClientConfig.configDef())));
        for (String kind : List.of("producer", "consumer", "admin", "jaas", "properties")) {
            List<Object> answers = new ArrayList<>();
            for (Object question : (List<?>) questions.get(kind)) answers.add(answer(kind, question));
            facts.put(kind, answers);
        }
        facts.put("serialized", serialized());
        System.out.println("FACTS " + new ObjectMapper().writeValueAsString(facts));
    }

    static Object options(ConfigDef definition) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("type", key.type.toString());
            facts.put("default", key.hasDefault() && key.defaultValue != null ? plain(key.defaultValue) : null);
            facts.put("valid", key.validator == null ? "" : key.validator.toString());
            found.put(key.name, facts);
        }
        return found;
    }

    static Object serialized() {
        Map<String, String> found = new LinkedHashMap<>();
        found.put("string", hex(new StringSerializer().serialize("t", "h\u00e9llo \ud83d\ude00")));
        found.put("short", hex(new ShortSerializer().serialize("t", (short) -2)));
        found.put("integer", hex(new IntegerSerializer().serialize("t", -305419896)));
        found.put("long", hex(new LongSerializer().serialize("t", 81985529216486895L)));
        found.put("float", hex(new FloatSerializer().serialize("t", 1.5f)));
        found.put("double", hex(new DoubleSerializer().serialize("t", -2.25)));
        found.put("boolean", hex(new BooleanSerializer().serialize("t", true)));
        UUID id = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
        found.put("uuid", hex(new UUIDSerializer().serialize("t", id)));
        return found;
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    static Object plain(Object value) {
        if (value instanceof List<?> list) return list.stream().map(Facts::plain).toList();
        if (value instanceof Class<?> type) return type.getName();
        return value instanceof Number || value instanceof Boolean ? value : value.toString();
    }

    /** The answer, or {"refused": message}. */
    static Object answer(String kind, Object question) {
        try {
            return switch (kind) {
                case "jaas" -> jaas((String) question);
                case "properties" -> properties((String) question);
                default -> client(kind, (Map<?, ?>) question);
            };
        } catch (Exception refused) {
            return Map.of("refused", String.valueOf(refused));
        }
    }

    static Object client(String kind, Map<?, ?> given) {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("bootstrap.servers", "localhost:9092");
        for (Map.Entry<?, ?> entry : given.entrySet()) options.put((String) entry.getKey(), entry.getValue());
        String bytes = "org.apache.kafka.common.serialization.ByteArray";
        String suffix = kind.equals("producer") ? "serializer" : "deserializer";
        String type = bytes + (kind.equals("producer") ? "Serializer" : "Deserializer");
        if (!kind.equals("admin")) {
            options.put("key." + suffix, type);
            options.put("value." + suffix, type);
        }
        AbstractConfig config = switch (kind) {
            case "producer" -> new ProducerConfig(options);
            case "consumer" -> new ConsumerConfig(options);
            default -> new AdminClientConfig(options);
        };
        AutoCloseable made = switch (kind) {
            case "producer" -> new KafkaProducer<>(options);
            case "consumer" -> new KafkaConsumer<>(options);
            default -> Admin.create(options);
        };
        if (made instanceof KafkaProducer<?, ?> producer) producer.close(java.time.Duration.ZERO);
        else if (made instanceof KafkaConsumer<?, ?> consumer) consumer.close();
        else ((Admin) made).close(java.time.Duration.ZERO);
        Map<String, Object> values = new LinkedHashMap<>();
        for (String name : List.of("enable.idempotence", "enable.auto.commit", "reconnect.backoff.max.ms"))
            if (config.values().containsKey(name)) values.put(name, config.values().get(name));
        return values;
    }

    static Object jaas(String text) {
        AppConfigurationEntry entry = JaasContext.loadClientContext(
            Map.of("sasl.jaas.config", new Password(text))).configurationEntries().get(0);
        return Map.of("module", entry.getLoginModuleName(), "options", entry.getOptions());
    }

    static Object properties(String text) throws Exception {
        Properties found = new Properties();
        found.load(new StringReader(text));
        return new LinkedHashMap<>(found);
    }
}
