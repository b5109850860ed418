"""Who may log in, and what is kept to check it: passwords for PLAIN, keys for SCRAM. Pure."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Self

from kafka_aio.broker.room import Room, bytes_of
from kafka_aio.config.option import Secret
from kafka_aio.errors import ConfigError, PolicyViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kafka_aio.broker.security.tokens import Tokens

ITERATIONS: Final = 4_096
"""Kafka's default, and the least that clients accept."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER")
"""Those that can be enabled, in the order in which Kafka names them to a client."""

_SALT_BYTES: Final = 16
_OBJECTS: Final = 500
"""The bytes of a user of SCRAM, without name and salt."""


class ScramMechanism(IntEnum):
    """The two mechanisms of SCRAM, by the numbers that the protocol has for them."""

    SHA_256 = 1
    SHA_512 = 2

    @classmethod
    def called(cls, sasl_name: str) -> Self:
        """The one that SASL knows by a name."""
        return next(each for each in cls if each.sasl_name == sasl_name)

    @property
    def sasl_name(self) -> str:
        return f"SCRAM-{self.name.replace('_', '-')}"

    @property
    def hash_name(self) -> str:
        return self.name.replace("_", "").lower()


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server keeps of a password (RFC 5802): enough to check it, too little to use it."""

    salt: bytes = field(repr=False)
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def from_salted_password(
        cls, mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
    ) -> Self:
        """What is kept of a password that somebody else has salted, as Kafka's admins do."""
        name = mechanism.hash_name
        client_key = hmac.digest(salted_password, b"Client Key", name)
        stored_key = hashlib.new(name, client_key).digest()
        return cls(salt, iterations, stored_key, hmac.digest(salted_password, b"Server Key", name))

    @classmethod
    def from_password(
        cls, mechanism: ScramMechanism, password: Secret, salt: bytes, iterations: int = ITERATIONS
    ) -> Self:
        """What is kept of a password. It takes milliseconds, so not in the loop."""
        return cls.from_salted_password(
            mechanism,
            hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations),
            salt,
            iterations,
        )


class Users:
    """The users of a cluster, and the mechanisms by which they may prove who they are."""

    def __init__(self, room: Room | None = None) -> None:
        self._room = Room() if room is None else room
        self.mechanisms: tuple[str, ...] = ()
        """Those of SASL that are enabled; none means that nobody has to log in."""
        self.passwords: dict[str, Secret] = {}
        """Of PLAIN."""
        self.scram: dict[ScramMechanism, dict[str, ScramCredential]] = {
            mechanism: {} for mechanism in ScramMechanism
        }
        self.tokens: Tokens = None
        """Who checks those of OAUTHBEARER; with nobody, every one is refused."""

    def __repr__(self) -> str:
        names = sorted({*self.passwords, *(name for kept in self.scram.values() for name in kept)})
        return (
            f"<Users {', '.join(names) or 'none'}; by {', '.join(self.mechanisms) or 'no proof'}>"
        )

    def enable(self, mechanisms: Collection[str], *, tokens: Tokens = None) -> None:
        """Have everybody log in, by one of these mechanisms.

        Args:
            mechanisms: Of `MECHANISMS`.
            tokens: Who checks those of OAUTHBEARER; with nobody, every one is refused.

        Raises:
            ConfigError: A mechanism is not one of those.
        """
        unknown = [name for name in mechanisms if name not in MECHANISMS]
        if unknown:
            raise ConfigError(
                f"the embedded broker has the mechanisms {', '.join(MECHANISMS)}, not"
                f" {', '.join(map(repr, unknown))}"
            )
        if not (tokens is None or tokens == "unsecured" or callable(tokens)):
            raise ConfigError(
                "tokens are checked by a function, or not at all if it is 'unsecured'"
            )
        self.mechanisms = tuple(name for name in MECHANISMS if name in mechanisms)
        self.tokens = tokens

    def add(self, passwords: Mapping[str, str], *, randbytes: Callable[[int], bytes]) -> None:
        """Let users log in by each mechanism that is enabled and knows passwords.

        SCRAM takes some milliseconds for each user, so not in the loop.

        Args:
            passwords: By user name.
            randbytes: Where the salts come from.
        """
        for name, text in passwords.items():
            password = Secret(text)
            if "PLAIN" in self.mechanisms:
                self.passwords[name] = password
            for mechanism, kept in self.scram.items():
                if mechanism.sasl_name in self.mechanisms:
                    salt = randbytes(_SALT_BYTES)
                    kept[name] = ScramCredential.from_password(mechanism, password, salt)
                    self._room.take(_size(name, kept[name]))

    def put(self, mechanism: ScramMechanism, name: str, credential: ScramCredential) -> None:
        """Let a user log in by SCRAM.

        Raises:
            PolicyViolation: There is no room for more users.
        """
        kept = self.scram[mechanism]
        growth = _size(name, credential) - _size(name, kept.get(name))
        if not self._room.has(growth):
            raise PolicyViolation("The embedded broker has no room for more users.")
        self._room.take(growth)
        kept[name] = credential

    def drop(self, mechanism: ScramMechanism, name: str) -> None:
        """Let a user, who is there, no longer log in by SCRAM."""
        self._room.take(-_size(name, self.scram[mechanism].pop(name)))


def _size(name: str, credential: ScramCredential | None) -> int:
    return 0 if credential is None else _OBJECTS + bytes_of(name, credential.salt)
