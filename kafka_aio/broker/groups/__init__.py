"""Groups of consumers, of both protocols, and the offsets that they commit. Pure."""

from kafka_aio.broker.groups.groups import Groups

__all__ = ["Groups"]
