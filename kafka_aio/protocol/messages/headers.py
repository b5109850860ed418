"""Declarations only, with no limit of lines: what stands before a request or a response. Pure."""

from kafka_aio.protocol.schema import Int16, Int32, PlainString, data


@data(versions=(1, 2), flexible=2)
class RequestHeader:
    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: PlainString | None


@data(versions=(0, 1), flexible=1)
class ResponseHeader:
    correlation_id: Int32
