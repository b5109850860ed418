"""ListOffsets, as `kafka_aio.listing` has it: admins ask it too. Pure."""

from kafka_aio.listing import *  # noqa: F403 - the same names, at the place of old
