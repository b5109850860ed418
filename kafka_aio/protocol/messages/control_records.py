"""Declarations only, with no limit of lines: keys and values of control records. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    String,
    UInt16,
    Uuid,
    data,
    message,
    since,
)


@data(versions=(0, 0))
class ControlRecordTypeSchema:
    type: Int16


@data(versions=(0, 0))
class EndTxnMarker:
    coordinator_epoch: Int32


@message
class LeaderChangeMessageVoter:
    voter_id: Int32
    voter_directory_id: Uuid = since(1, default=NO_UUID)


@data(versions=(0, 1), flexible=0)
class LeaderChangeMessage:
    version: Int16
    leader_id: Int32
    voters: list[LeaderChangeMessageVoter]
    granting_voters: list[LeaderChangeMessageVoter]


@data(versions=(0, 0), flexible=0)
class SnapshotHeaderRecord:
    version: Int16
    last_contained_log_timestamp: Int64


@data(versions=(0, 0), flexible=0)
class SnapshotFooterRecord:
    version: Int16


@data(versions=(0, 0), flexible=0)
class KRaftVersionRecord:
    version: Int16
    kraft_version: Int16


@message
class Endpoint:
    name: String
    host: String
    port: UInt16


@message
class KRaftVersionFeature:
    min_supported_version: Int16
    max_supported_version: Int16


@message
class VotersRecordVoter:
    voter_id: Int32
    voter_directory_id: Uuid
    endpoints: list[Endpoint]
    kraft_version_feature: KRaftVersionFeature


@data(versions=(0, 0), flexible=0)
class VotersRecord:
    version: Int16
    voters: list[VotersRecordVoter]
