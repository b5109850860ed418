"""Sending records: what to send, where, and when."""

from kafka_aio.producer.deliveries import Deliveries
from kafka_aio.producer.delivery import Delivery
from kafka_aio.producer.producer import Producer
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.producer.values import ProducerHealth, ProducerStatistics

__all__ = [
    "Deliveries",
    "Delivery",
    "Producer",
    "ProducerHealth",
    "ProducerRecord",
    "ProducerStatistics",
]
