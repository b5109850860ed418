"""The same requests to Apache Kafka and to the embedded broker: the answers must be the same."""
