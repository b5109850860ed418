// kafkajs on the other side of test_kafkajs.py: does what the first argument says on the brokers
// that the second names, with the options that the third has as JSON; prints one line of JSON.

const { Kafka, CompressionTypes, ConfigResourceTypes, PartitionAssigners, logLevel } = require("kafkajs");

const [action, brokers, text] = process.argv.slice(2);
const options = JSON.parse(text);
const kafka = new Kafka({
  clientId: "kafkajs",
  brokers: brokers.split(","),
  logLevel: logLevel.ERROR,
  retry: { initialRetryTime: 50 },
  ...options.security,
});

async function until(isSo) {
  const deadline = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not so in time: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function produce({ topic, codec, acks, idempotent, count }) {
  const producer = kafka.producer({ idempotent, maxInFlightRequests: 1 });
  await producer.connect();
  const messages = [...Array(count).keys()].map((n) => ({
    key: `k${n}`,
    value: `v${n}`,
    headers: { a: "1" },
    timestamp: `${1_700_000_000_000 + n}`,
  }));
  await producer.send({ topic, acks, compression: CompressionTypes[codec], messages });
  await producer.disconnect();
}

// A member that keeps what it has read and how many partitions it has.
async function join({ topic, group }, members) {
  const consumer = kafka.consumer({
    groupId: group,
    heartbeatInterval: 100,
    rebalanceTimeout: 5_000,
    maxWaitTimeInMs: 100, // a member that leaves waits for its last fetch
    partitionAssigners: [PartitionAssigners.roundRobin],
  });
  const member = { consumer, partitions: 0, messages: [] };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.partitions = (payload.memberAssignment[topic] ?? []).length;
  });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      member.messages.push(message);
    },
  });
  members.push(member);
  return member;
}

async function consume({ topic, group, count }) {
  const members = [];
  const { consumer, messages } = await join({ topic, group }, members);
  await until(() => messages.length >= count);
  await consumer.disconnect();
  return messages.map(({ key, value, timestamp, headers }) => [`${key}`, `${value}`, Number(timestamp), `${headers.a}`]);
}

async function share({ topic, group }) {
  const first = await join({ topic, group }, []);
  await until(() => first.partitions === 4);
  const second = await join({ topic, group }, []);
  await until(() => first.partitions === 2 && second.partitions === 2);
  await first.consumer.disconnect();
  await until(() => second.partitions === 4);
  await produce({ topic, codec: "None", acks: -1, idempotent: false, count: 20 });
  await until(() => second.messages.length === 20);
  await second.consumer.disconnect();
  return second.messages.length;
}

async function administer({ topic, group }) {
  const admin = kafka.admin();
  await admin.connect();
  const seen = {};
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1, replicationFactor: 2 }] });
  await admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] });
  seen.partitions = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length;
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: "retention.ms", value: "1000" }] }] });
  const described = await admin.describeConfigs({ resources: [{ ...resource, configNames: ["retention.ms"] }] });
  seen.retention = described.resources[0].configEntries[0].configValue;
  seen.brokers = (await admin.describeCluster()).brokers.length;
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ partition: 0, value: "a" }, { partition: 0, value: "b" }] });
  await producer.disconnect();
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "1" }] });
  seen.offsets = (await admin.fetchTopicOffsets(topic)).map(({ low, high }) => [low, high]).sort();
  await consume({ topic, group, count: 1 });
  seen.committed = (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions.map(({ offset }) => offset).sort();
  seen.group = (await admin.describeGroups([group])).groups[0].state;
  seen.listed = (await admin.listGroups()).groups.map(({ groupId }) => groupId).includes(group);
  await admin.resetOffsets({ groupId: group, topic, earliest: true });
  await admin.deleteGroups([group]);
  await admin.deleteTopics({ topics: [topic] });
  seen.topics = (await admin.listTopics()).includes(topic);
  await admin.disconnect();
  return seen;
}

({ produce, consume, share, administer })[action](options)
  .then((result) => {
    console.log(JSON.stringify(result ?? null));
    process.exit(0);
  })
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
