"""Real Apache Kafka for the tests: its jars, its processes, and raw requests to them."""
