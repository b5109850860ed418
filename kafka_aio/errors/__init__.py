"""Every error of the library: `tree` has the kinds, `broker` a class per broker code. Pure."""

from kafka_aio.errors.broker import *  # noqa: F403 - its 134 classes are listed there, once
from kafka_aio.errors.tree import AuthenticationError as AuthenticationError
from kafka_aio.errors.tree import BrokerError as BrokerError
from kafka_aio.errors.tree import BufferFull as BufferFull
from kafka_aio.errors.tree import CommitFailed as CommitFailed
from kafka_aio.errors.tree import ConfigError as ConfigError
from kafka_aio.errors.tree import CorrelationIdError as CorrelationIdError
from kafka_aio.errors.tree import CorruptRecord as CorruptRecord
from kafka_aio.errors.tree import DeliveryError as DeliveryError
from kafka_aio.errors.tree import DeserializationError as DeserializationError
from kafka_aio.errors.tree import KafkaConnectionError as KafkaConnectionError
from kafka_aio.errors.tree import KafkaError as KafkaError
from kafka_aio.errors.tree import KafkaTimeoutError as KafkaTimeoutError
from kafka_aio.errors.tree import Persistence as Persistence
from kafka_aio.errors.tree import ProtocolError as ProtocolError
from kafka_aio.errors.tree import RecordTooLarge as RecordTooLarge
from kafka_aio.errors.tree import SendManyError as SendManyError
from kafka_aio.errors.tree import SerializationError as SerializationError
from kafka_aio.errors.tree import StateError as StateError
from kafka_aio.errors.tree import UnknownBrokerError as UnknownBrokerError
from kafka_aio.errors.tree import UnsupportedVersion as UnsupportedVersion
from kafka_aio.errors.tree import UserCodeError as UserCodeError
from kafka_aio.errors.tree import WakeupError as WakeupError
from kafka_aio.errors.tree import for_code as for_code
from kafka_aio.errors.tree import fresh as fresh
