"""Declarations only, with no limit of lines: metrics that clients push (KIP-714). Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Bytes,
    Int8,
    Int16,
    Int32,
    Request,
    String,
    Uuid,
    request,
    response,
)


@response(key=71, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    client_instance_id: Uuid
    subscription_id: Int32
    accepted_compression_types: list[Int8]
    push_interval_ms: Int32
    telemetry_max_bytes: Int32
    delta_temporality: Bool
    requested_metrics: list[String]


@request(key=71, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsRequest(Request[GetTelemetrySubscriptionsResponse]):
    client_instance_id: Uuid


@response(key=72, versions=(0, 0), flexible=0)
class PushTelemetryResponse:
    throttle_time_ms: Int32
    error_code: Int16


@request(key=72, versions=(0, 0), flexible=0)
class PushTelemetryRequest(Request[PushTelemetryResponse]):
    client_instance_id: Uuid
    subscription_id: Int32
    terminating: Bool
    compression_type: Int8
    metrics: Bytes
