// Kafka's own list of error codes, as JSON; run by test_broker.py.

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;

public class Errors {
    public static void main(String[] arguments) {
        List<String> lines = new ArrayList<>();
        for (org.apache.kafka.common.protocol.Errors error : org.apache.kafka.common.protocol.Errors.values()) {
            Exception raised = error.exception();
            lines.add(String.format(
                "{\"code\": %d, \"name\": \"%s\", \"retriable\": %s, \"stale_metadata\": %s,"
                    + " \"authentication\": %s, \"authorization\": %s}",
                error.code(), error.name(), raised instanceof RetriableException,
                raised instanceof InvalidMetadataException, raised instanceof AuthenticationException,
                raised instanceof AuthorizationException));
        }
        System.out.println("[" + String.join(",", lines) + "]");
    }
}
