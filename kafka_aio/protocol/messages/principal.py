"""Declarations only, with no limit of lines: who somebody is, as brokers tell each other. Pure."""

from kafka_aio.protocol.schema import Bool, String, data


@data(versions=(0, 0), flexible=0)
class DefaultPrincipalData:
    type: String
    name: String
    token_authenticated: Bool
