"""What Apache Kafka is told, by purpose. The names are Kafka's; older ones ignore what is new."""

from __future__ import annotations

# Listeners, and the security protocol of each. PROXY is one that is advertised elsewhere: at the
# port where a test may put a proxy before the node.
LISTENERS = {"PLAIN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", "PROXY": "PLAINTEXT"}

# Quick groups, quick cleaning, small memory; records of long ago stay.
QUICK = {
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.coordinator.threads": "1",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.threads": "1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.index.size.max.bytes": "1048576",
    "log.segment.bytes": "67108864",
    "metadata.log.segment.bytes": "16777216",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}

# Everyone may do everything, but the APIs of access control answer. Who comes by a listener
# without authentication is ANONYMOUS.
ACCESS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "allow.everyone.if.no.acl.found": "true",
}

# A node that is alone: one replica of everything, and few partitions.
ALONE = {
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}

# One of three: three replicas of everything, and another leader two or three seconds after a kill
# (Kafka's own values: about ten).
TOGETHER = {
    "num.partitions": "3",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "unclean.leader.election.enable": "false",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1500",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.request.timeout.ms": "1000",
    "controller.quorum.retry.backoff.ms": "20",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "200",
    "replica.socket.timeout.ms": "2000",
    "controller.socket.timeout.ms": "2000",
    "leader.imbalance.check.interval.seconds": "2",
    "initial.broker.registration.timeout.ms": "20000",
}
