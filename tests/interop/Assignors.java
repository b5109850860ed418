// Java's assignors of classic groups, and how its members write to each other. Each line read is a
// question in JSON, each line printed its answer; bytes are in base64.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

public class Assignors {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            switch (question.get("do").asText()) {
                case "assign" -> assign(question, answer);
                case "copy" -> copy(question, answer);
                case "user data" -> userData(question, answer);
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    static ConsumerPartitionAssignor assignor(JsonNode question) {
        return switch (question.get("assignor").asText()) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
    }

    // The assignment of each member, by its id.
    static void assign(JsonNode question, ObjectNode answer) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        question.get("members").fields().forEachRemaining(member -> {
            var subscription = ConsumerProtocol.deserializeSubscription(bytes(member.getValue().get("subscription")));
            JsonNode instance = member.getValue().get("instance_id");
            subscription.setGroupInstanceId(instance.isNull() ? Optional.empty() : Optional.of(instance.asText()));
            subscriptions.put(member.getKey(), subscription);
        });
        Cluster cluster = cluster(question.get("topics"));
        var assignments = assignor(question).assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
        assignments.forEach((id, assignment) -> answer.put(id, text(ConsumerProtocol.serializeAssignment(assignment))));
    }

    static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            for (int number = 0; number < topic.getValue().size(); number++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : topic.getValue().get(number)) {
                    replicas.add(nodes.computeIfAbsent(rack.asText(), r -> new Node(nodes.size(), "host", 9092, r)));
                }
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), number, Node.noNode(), all, all));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    // What was read, written again, in every version.
    static void copy(JsonNode question, ObjectNode answer) {
        for (short version = 0; version <= 3; version++) {
            ByteBuffer given = bytes(question.get("bytes"));
            ByteBuffer written = question.get("is_subscription").asBoolean()
                ? ConsumerProtocol.serializeSubscription(ConsumerProtocol.deserializeSubscription(given), version)
                : ConsumerProtocol.serializeAssignment(ConsumerProtocol.deserializeAssignment(given), version);
            answer.put(String.valueOf(version), text(written));
        }
    }

    // What a member says that was assigned something.
    static void userData(JsonNode question, ObjectNode answer) {
        ConsumerPartitionAssignor assignor = assignor(question);
        Assignment assignment = ConsumerProtocol.deserializeAssignment(bytes(question.get("bytes")));
        assignor.onAssignment(assignment, new ConsumerGroupMetadata("group", question.get("generation").asInt(), "id", Optional.empty()));
        answer.put("bytes", text(assignor.subscriptionUserData(Set.of())));
    }

    static ByteBuffer bytes(JsonNode text) {
        return ByteBuffer.wrap(Base64.getDecoder().decode(text.asText()));
    }

    static String text(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }
}
