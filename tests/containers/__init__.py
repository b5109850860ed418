"""Kafka in a container, for real: `make test-containers`."""
