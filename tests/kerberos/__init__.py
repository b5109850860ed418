"""Kerberos for real: a KDC of our own on loopback, and an Apache Kafka that trusts it."""
