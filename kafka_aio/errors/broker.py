"""Declarations only: one class for each error code of Kafka 4.3, in the order of the codes. Pure.

A docstring is the message that the user reads: what failed and what to do. Where a kind of the tree
says the same (a time-out, a lost connection, refused credentials), the class is of that kind too.
`retriable` and `stale_metadata` are Kafka's own facts; a test compares them with its jar.
"""

from kafka_aio.errors.tree import (
    AuthenticationError,
    BrokerError,
    KafkaConnectionError,
    KafkaTimeoutError,
    UnsupportedVersion,
)


class AuthorizationError(BrokerError):
    """We are known to the broker, but an ACL does not allow this."""


class FencedError(BrokerError):
    """Another client has taken our place. Fatal: close this client."""


class UnknownServerError(BrokerError, code=-1):
    """The broker failed for a reason it does not give; its log has the cause."""


class OffsetOutOfRange(BrokerError, code=1):
    """The offset is before or after what the log holds; seek, or set auto_offset_reset."""


class CorruptMessage(BrokerError, code=2, retriable=True):
    """A batch arrived damaged, too large, or without a key for a compacted topic."""


class UnknownTopicOrPartition(BrokerError, code=3, retriable=True, stale_metadata=True):
    """The broker has no such topic or partition; check the name, or create it first."""


class InvalidFetchSize(BrokerError, code=4):
    """The fetch asks for a number of bytes that is not allowed."""


class LeaderNotAvailable(BrokerError, code=5, retriable=True, stale_metadata=True):
    """The partition has no leader at the moment; an election is under way, try again."""


class NotLeaderOrFollower(BrokerError, code=6, retriable=True, stale_metadata=True):
    """This node does not lead the partition any more; refresh the metadata and try again."""


class RequestTimedOut(BrokerError, KafkaTimeoutError, code=7, retriable=True):
    """The broker could not finish the request in its time; it may or may not have taken effect."""


class BrokerNotAvailable(BrokerError, code=8):
    """The broker is not available."""


class ReplicaNotAvailable(BrokerError, code=9, retriable=True, stale_metadata=True):
    """This node has no replica of the partition; refresh the metadata and try again."""


class MessageTooLarge(BrokerError, code=10):
    """A batch is larger than the topic's max.message.bytes; send less, or raise that limit."""


class StaleControllerEpoch(BrokerError, code=11):
    """The controller has moved to another node."""


class OffsetMetadataTooLarge(BrokerError, code=12):
    """The text committed with an offset is longer than the broker's offset.metadata.max.bytes."""


class NetworkError(
    BrokerError,
    KafkaConnectionError,
    code=13,
    name="NETWORK_EXCEPTION",
    retriable=True,
    stale_metadata=True,
):
    """The connection was lost before the answer came; the request may have taken effect."""


class CoordinatorLoadInProgress(BrokerError, code=14, retriable=True):
    """The coordinator is still reading its log after a start or a move; try again."""


class CoordinatorNotAvailable(BrokerError, code=15, retriable=True):
    """There is no coordinator at the moment; look for it again."""


class NotCoordinator(BrokerError, code=16, retriable=True):
    """This node does not coordinate the group or transaction any more; look for it again."""


class InvalidTopic(BrokerError, code=17, name="INVALID_TOPIC_EXCEPTION"):
    """The topic's name is not allowed, or the topic is one of Kafka's own."""


class RecordListTooLarge(BrokerError, code=18):
    """A batch is larger than a segment of the broker's log; send smaller batches."""


class NotEnoughReplicas(BrokerError, code=19, retriable=True):
    """Nothing was written: fewer replicas are in sync than min.insync.replicas asks for."""


class NotEnoughReplicasAfterAppend(BrokerError, code=20, retriable=True):
    """The batch was written, but fewer replicas have it than min.insync.replicas asks for."""


class InvalidRequiredAcks(BrokerError, code=21):
    """The produce request carries a value of acks that is not -1, 0 or 1."""


class IllegalGeneration(BrokerError, code=22):
    """The group has moved on to another generation; join it again."""


class InconsistentGroupProtocol(BrokerError, code=23):
    """The group's members share no assignor or protocol with this one; give all the same list."""


class InvalidGroupId(BrokerError, code=24):
    """The group id is empty or not allowed."""


class UnknownMemberId(BrokerError, code=25):
    """The coordinator does not know this member, for it was too long silent; join again."""


class InvalidSessionTimeout(BrokerError, code=26):
    """session_timeout_ms is outside the broker's group.min and group.max.session.timeout.ms."""


class RebalanceInProgress(BrokerError, code=27):
    """The group is rebalancing; join it again."""


class InvalidCommitOffsetSize(BrokerError, code=28):
    """The offsets to commit do not fit into one message of the broker's."""


class TopicAuthorizationFailed(AuthorizationError, code=29):
    """An ACL does not allow this on the topic; ask for the right, or check the name."""


class GroupAuthorizationFailed(AuthorizationError, code=30):
    """An ACL does not allow this on the group; ask for the right, or check the group id."""


class ClusterAuthorizationFailed(AuthorizationError, code=31):
    """An ACL does not allow this on the cluster."""


class InvalidTimestamp(BrokerError, code=32):
    """A record's timestamp is further from now than the topic allows."""


class UnsupportedSaslMechanism(BrokerError, AuthenticationError, code=33):
    """The broker does not offer this SASL mechanism; set sasl_mechanism to one that it does."""


class IllegalSaslState(BrokerError, AuthenticationError, code=34):
    """A SASL request came out of turn; is the listener one with SASL?"""


class UnsupportedByBroker(BrokerError, UnsupportedVersion, code=35, name="UNSUPPORTED_VERSION"):
    """The broker does not speak this version of the API."""


class TopicAlreadyExists(BrokerError, code=36):
    """A topic of this name exists already."""


class InvalidPartitions(BrokerError, code=37):
    """The number of partitions is below 1, or not above the present number."""


class InvalidReplicationFactor(BrokerError, code=38):
    """The replication factor is below 1, or above the number of brokers that are up."""


class InvalidReplicaAssignment(BrokerError, code=39):
    """The replicas are assigned to brokers in a way that is not allowed."""


class InvalidConfig(BrokerError, code=40):
    """The broker refuses a configuration value."""


class NotController(BrokerError, code=41, retriable=True):
    """This node is not the controller any more; refresh the metadata and try again."""


class InvalidRequest(BrokerError, code=42):
    """The broker takes the request for malformed; its log has the cause."""


class UnsupportedForMessageFormat(BrokerError, code=43):
    """The log's message format is too old for this request."""


class PolicyViolation(BrokerError, code=44):
    """A policy of this cluster does not allow the request."""


class OutOfOrderSequenceNumber(BrokerError, code=45):
    """A batch before this one is missing at the broker; records may have been lost."""


class DuplicateSequenceNumber(BrokerError, code=46):
    """The broker has this batch already."""


class InvalidProducerEpoch(FencedError, code=47):
    """A newer producer uses this producer's id, or its transaction timed out; close this one."""


class InvalidTxnState(BrokerError, code=48):
    """The call does not fit the state of the transaction."""


class InvalidProducerIdMapping(BrokerError, code=49):
    """The producer id does not belong to this transactional id any more."""


class InvalidTransactionTimeout(BrokerError, code=50):
    """transaction_timeout_ms is above the broker's transaction.max.timeout.ms; lower it."""


class ConcurrentTransactions(BrokerError, code=51, retriable=True):
    """The transaction before is still being completed; try again."""


class TransactionCoordinatorFenced(BrokerError, code=52):
    """The coordinator that writes the transaction's markers has been replaced."""


class TransactionalIdAuthorizationFailed(AuthorizationError, code=53):
    """An ACL does not allow the use of this transactional id."""


class SecurityDisabled(BrokerError, code=54):
    """The broker has no authorizer, so it has no ACLs either."""


class OperationNotAttempted(BrokerError, code=55):
    """The broker did not try this part of the request, because another part failed."""


class KafkaStorageError(BrokerError, code=56, retriable=True, stale_metadata=True):
    """The broker cannot read or write a log on its disk; another replica may take over."""


class LogDirNotFound(BrokerError, code=57):
    """The broker has no such log directory."""


class SaslAuthenticationFailed(BrokerError, AuthenticationError, code=58):
    """The broker refused us; check user and password, or the token, and sasl_mechanism."""


class UnknownProducerId(BrokerError, code=59):
    """The broker has forgotten this producer, for its records have expired."""


class ReassignmentInProgress(BrokerError, code=60):
    """A reassignment of the partition's replicas is under way; wait for its end."""


class DelegationTokenAuthDisabled(BrokerError, code=61):
    """Delegation tokens are not enabled on this cluster."""


class DelegationTokenNotFound(BrokerError, code=62):
    """The broker has no such delegation token."""


class DelegationTokenOwnerMismatch(BrokerError, code=63):
    """We are neither the owner nor a renewer of the delegation token."""


class DelegationTokenRequestNotAllowed(BrokerError, code=64):
    """Delegation tokens need a connection that is authenticated, and not by such a token."""


class DelegationTokenAuthorizationFailed(AuthorizationError, code=65):
    """An ACL does not allow this on the delegation token."""


class DelegationTokenExpired(BrokerError, code=66):
    """The delegation token has expired; get a new one."""


class InvalidPrincipalType(BrokerError, code=67):
    """The principal's type is not supported; it is mostly User."""


class NonEmptyGroup(BrokerError, code=68):
    """The group still has members; stop them first."""


class GroupIdNotFound(BrokerError, code=69):
    """There is no such group."""


class FetchSessionIdNotFound(BrokerError, code=70, retriable=True):
    """The broker has dropped the fetch session; start another."""


class InvalidFetchSessionEpoch(BrokerError, code=71, retriable=True):
    """The fetch session is out of step; start another."""


class ListenerNotFound(BrokerError, code=72, retriable=True, stale_metadata=True):
    """The leader lacks the listener that we are connected by; check advertised.listeners."""


class TopicDeletionDisabled(BrokerError, code=73):
    """The cluster does not allow topics to be deleted (delete.topic.enable)."""


class FencedLeaderEpoch(BrokerError, code=74, retriable=True, stale_metadata=True):
    """The partition has a newer leader than we know; refresh the metadata and try again."""


class UnknownLeaderEpoch(BrokerError, code=75, retriable=True):
    """The broker does not know of this leader yet; try again."""


class UnsupportedCompressionType(BrokerError, code=76):
    """The records are compressed in a way that this version of the request cannot carry."""


class StaleBrokerEpoch(BrokerError, code=77):
    """The broker has been registered anew since."""


class OffsetNotAvailable(BrokerError, code=78, retriable=True):
    """The new leader does not know the end of its log yet; try again."""


class MemberIdRequired(BrokerError, code=79):
    """The member has to join again with the id that it was just given."""


class PreferredLeaderNotAvailable(BrokerError, code=80, retriable=True, stale_metadata=True):
    """The preferred leader is not up."""


class GroupMaxSizeReached(BrokerError, code=81):
    """The group has as many members as the broker's group.max.size allows."""


class FencedInstanceId(FencedError, code=82):
    """Another member has joined with the same group_instance_id; give each its own."""


class EligibleLeadersNotAvailable(BrokerError, code=83, retriable=True, stale_metadata=True):
    """No replica that may lead the partition is up."""


class ElectionNotNeeded(BrokerError, code=84, retriable=True, stale_metadata=True):
    """The partition is led by the right replica already."""


class NoReassignmentInProgress(BrokerError, code=85):
    """No reassignment of the partition's replicas is under way."""


class GroupSubscribedToTopic(BrokerError, code=86):
    """The group is subscribed to the topic, so its offsets cannot be deleted; stop it first."""


class InvalidRecord(BrokerError, code=87):
    """The broker refuses a record, and with it the batch."""


class UnstableOffsetCommit(BrokerError, code=88, retriable=True):
    """An open transaction has offsets of this group; try again when it has ended."""


class ThrottlingQuotaExceeded(BrokerError, code=89, retriable=True):
    """A quota of the cluster is used up; try again later."""


class ProducerFenced(FencedError, code=90):
    """A newer producer has the same transactional id; close this one."""


class ResourceNotFound(BrokerError, code=91):
    """The request names something that does not exist."""


class DuplicateResource(BrokerError, code=92):
    """The request names the same thing twice."""


class UnacceptableCredential(BrokerError, code=93):
    """The new credential does not meet the broker's rules, such as the number of iterations."""


class InconsistentVoterSet(BrokerError, code=94):
    """A controller is not one of the voters that were expected."""


class InvalidUpdateVersion(BrokerError, code=95):
    """The version to update to is not valid."""


class FeatureUpdateFailed(BrokerError, code=96):
    """The cluster's features could not be updated."""


class PrincipalDeserializationFailure(BrokerError, code=97):
    """The controller cannot read who we are from the forwarded request."""


class SnapshotNotFound(BrokerError, code=98):
    """There is no such snapshot of the metadata log."""


class PositionOutOfRange(BrokerError, code=99):
    """The position is outside the snapshot of the metadata log."""


class UnknownTopicId(BrokerError, code=100, retriable=True, stale_metadata=True):
    """The broker has no topic of this id; it may have been deleted and made again."""


class DuplicateBrokerRegistration(BrokerError, code=101):
    """The broker id is in use already."""


class BrokerIdNotRegistered(BrokerError, code=102):
    """The broker id is not registered."""


class InconsistentTopicId(BrokerError, code=103, retriable=True, stale_metadata=True):
    """The log belongs to a topic of another id; the topic may have been deleted and made again."""


class InconsistentClusterId(BrokerError, code=104):
    """The request is for another cluster."""


class TransactionalIdNotFound(BrokerError, code=105):
    """There is no such transactional id."""


class FetchSessionTopicIdError(BrokerError, code=106, retriable=True):
    """The fetch session mixes topic names and ids; start another."""


class IneligibleReplica(BrokerError, code=107):
    """A replica of the new in-sync set may not be in it."""


class NewLeaderElected(BrokerError, code=108):
    """The partition was altered, and got another leader thereby."""


class OffsetMovedToTieredStorage(BrokerError, code=109):
    """The offset is in tiered storage now."""


class FencedMemberEpoch(BrokerError, code=110):
    """The group has fenced this member; it gives up its partitions and joins again."""


class UnreleasedInstanceId(BrokerError, code=111):
    """Another member still holds this group_instance_id; it has to leave first."""


class UnsupportedAssignor(BrokerError, code=112):
    """The group's coordinator does not have this assignor; see group_remote_assignor."""


class StaleMemberEpoch(BrokerError, code=113):
    """The member's epoch is old; it gets the new one with its next heartbeat."""


class MismatchedEndpointType(BrokerError, code=114):
    """A controller was asked what only brokers answer, or the other way round."""


class UnsupportedEndpointType(BrokerError, code=115):
    """The endpoint's type is not supported."""


class UnknownControllerId(BrokerError, code=116):
    """There is no controller of this id."""


class UnknownSubscriptionId(BrokerError, code=117):
    """The telemetry subscription has changed; ask for it again."""


class TelemetryTooLarge(BrokerError, code=118):
    """The pushed metrics are larger than the broker accepts."""


class InvalidRegistration(BrokerError, code=119):
    """The controller refuses a broker's registration."""


class TransactionAbortable(BrokerError, code=120):
    """The transaction cannot be committed any more; abort it and go on."""


class InvalidRecordState(BrokerError, code=121):
    """The record is not ours to acknowledge any more; its lock has ended."""


class ShareSessionNotFound(BrokerError, code=122, retriable=True):
    """The broker has dropped the share session; start another."""


class InvalidShareSessionEpoch(BrokerError, code=123, retriable=True):
    """The share session is out of step; start another."""


class FencedStateEpoch(BrokerError, code=124):
    """The share group's state has been taken over by a newer coordinator."""


class InvalidVoterKey(BrokerError, code=125):
    """The voter's key is not that of the replica."""


class DuplicateVoter(BrokerError, code=126):
    """The controller is a voter already."""


class VoterNotFound(BrokerError, code=127):
    """The controller is not a voter."""


class InvalidRegularExpression(BrokerError, code=128):
    """The broker cannot read the pattern; it takes RE2 syntax."""


class RebootstrapRequired(BrokerError, code=129):
    """The broker asks us to begin again from bootstrap_servers."""


class StreamsInvalidTopology(BrokerError, code=130):
    """The streams topology is not valid."""


class StreamsInvalidTopologyEpoch(BrokerError, code=131):
    """The epoch of the streams topology is not valid."""


class StreamsTopologyFenced(BrokerError, code=132):
    """The epoch of the streams topology is old."""


class ShareSessionLimitReached(BrokerError, code=133, retriable=True):
    """The broker has as many share sessions as it allows; try again later."""
