"""Faults on purpose: what goes wrong, for which requests, and how often. Pure.

    with broker.faults.fail("Produce", NotLeaderOrFollower, topic="orders", times=2) as fault:
        ...
    assert fault.hits == 2

Who answers asks `Fail` itself, once for each partition, topic or group (`Call.check_faults`): so
one of them fails and the others do not. The other faults concern a request as a whole;
`Faults.plan` says which, and its connection carries them out, in the order of their making.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, TypeVar, Unpack, cast

from kafka_aio.broker.faults.mentions import can_name, names_resources
from kafka_aio.broker.faults.rules import (
    Corrupt,
    Delay,
    Disconnect,
    Drop,
    Fail,
    Filter,
    Garbage,
    Hold,
    Rule,
    Throttle,
    When,
    check_type,
)
from kafka_aio.errors import BrokerError, ConfigError, UnknownBrokerError, for_code
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.schema import Request, response_of, schema_of

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.nodes import Rng

R = TypeVar("R", bound=Rule)

Api: TypeAlias = type[Request[Any]] | str | int
"""An API by its request class, its name ("Produce") or its key (0)."""
Error: TypeAlias = type[BrokerError] | BrokerError | int

_PRODUCE: Final = 0
_KEYS: Final = {name.removesuffix("Request"): key for key, (_, name) in REQUESTS.items()}


class Options(TypedDict, total=False):
    """Which requests a fault is for, and how often it happens. Whatever is left out, is any."""

    topic: str
    """Requests that name this topic, ask for all topics, or read it in a fetch session."""
    partition: int
    """Of that topic."""
    group: str
    node: int
    """Which node is asked."""
    client_id: str
    times: int
    """How often, at most; then the fault is over."""
    after: int
    """How many are let through first."""
    probability: float
    """By chance: 0.1 for one in ten, by the seed of the broker."""


_OPTIONS: Final = tuple(Options.__annotations__)


class Faults:
    """All faults of a broker, in the order in which they were made."""

    def __init__(self, rng: Rng, nodes: Collection[int]) -> None:
        self.rng = rng
        self.nodes = nodes
        """The ids of all nodes, or of those that will be."""
        self.run: Callable[[Callable[[], None]], None] = lambda action: action()
        """How a change is made: where the broker lives in another thread, there."""
        self.happened: Callable[[], None] = lambda: None
        """Is called for each hit."""
        self.served: Container[int] = REQUESTS
        """The keys of the APIs that can fail."""
        self.failures: tuple[Fail, ...] = ()
        """Those that who answers has to ask."""
        self._others: tuple[Rule, ...] = ()

    def __repr__(self) -> str:
        return f"<Faults {[*self.failures, *self._others]}>"

    def fail(
        self, api: Api, error: Error, *, when: When = "before", **options: Unpack[Options]
    ) -> Fail:
        """Answer with an error, and do not carry out what it is about.

        A request that names several partitions has a fault for each: `times` counts them.

        Args:
            api: Which API.
            error: An error class, an error with a message, or Kafka's code of it.
            when: "after" for one that is carried out nevertheless, as a leader appends before it
                finds that the others do not follow; for Produce alone.
            options: Which requests, and how often: see `Options`.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: The error is none, or an option is wrong.
        """
        meant = self._meant("fail", api, options, "when")
        if _when(when) == "after" and meant[0] != _PRODUCE:
            raise ConfigError(f"{api} fails before it is carried out; only Produce can do after it")
        rule = Fail(self, *meant, _error(error), when)
        self.run(lambda: self._add_failure(rule))
        return rule

    def delay(
        self, api: Api, seconds: float, *, when: When = "before", **options: Unpack[Options]
    ) -> Delay:
        """Let requests wait for some time before they are carried out, or after.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: The time, `when` or an option is wrong.
        """
        check_type("seconds", seconds, (int, float), "a number")
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"seconds is a time that ends, not {seconds}")
        meant = self._meant("delay", api, options, "when")
        return self._add(Delay(self, *meant, seconds, _when(when)))

    def hold(self, api: Api, *, when: When = "before", **options: Unpack[Options]) -> Hold:
        """Let requests wait for `release` before they are carried out, or after.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: `when` or an option is wrong.
        """
        return self._add(Hold(self, *self._meant("hold", api, options, "when"), _when(when)))

    def disconnect(
        self, api: Api, *, when: When = "before", **options: Unpack[Options]
    ) -> Disconnect:
        """Close the connection before a request is carried out, or after; there is no answer.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: `when` or an option is wrong.
        """
        meant = self._meant("disconnect", api, options, "when")
        return self._add(Disconnect(self, *meant, _when(when)))

    def drop(self, api: Api, **options: Unpack[Options]) -> Drop:
        """Carry requests out and never answer them.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: An option is wrong.
        """
        return self._add(Drop(self, *self._meant("drop", api, options)))

    def throttle(self, api: Api, milliseconds: int, **options: Unpack[Options]) -> Throttle:
        """Ask clients to pause, and do not read what they send meanwhile.

        Raises:
            ConfigError: There is no such API, its answers cannot say so, or none of its requests
                can be meant.
            TypeError, ValueError: The time or an option is wrong.
        """
        check_type("milliseconds", milliseconds, int, "a number")
        if not 0 < milliseconds < 2**31:
            raise ValueError(f"milliseconds is from 1 to 2**31 - 1, not {milliseconds}")
        key, chosen = self._meant("throttle", api, options)
        fields = schema_of(response_of(for_key(key))).fields
        if not any(field.name == "throttle_time_ms" for field in fields):
            raise ConfigError(f"{api}: its answers have no throttle_time_ms")
        return self._add(Throttle(self, key, chosen, milliseconds))

    def garbage(self, api: Api, **options: Unpack[Options]) -> Garbage:
        """Carry requests out and answer them with a frame of nonsense.

        Raises:
            ConfigError: There is no such API, or none of its requests can be meant.
            TypeError, ValueError: An option is wrong.
        """
        return self._add(Garbage(self, *self._meant("garbage", api, options)))

    def corrupt(self, topic: str, /, **options: Unpack[Options]) -> Corrupt:
        """Change a byte of what is fetched of a topic, so that its CRC is wrong.

        Raises:
            ConfigError: There is no such node, or a group is named.
            TypeError, ValueError: An option is wrong.
        """
        if "topic" in options:
            raise TypeError("corrupt takes the topic as its first argument, and once")
        options["topic"] = topic
        return self._add(Corrupt(self, *self._meant("corrupt", "Fetch", options)))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.failures) + len(self._others)

    def clear(self) -> None:
        """Remove them all; what is held goes on."""
        for rule in (*self.failures, *self._others):
            rule.remove()

    def plan(self, call: Call) -> tuple[Rule, ...]:
        """What is to happen to a request, beside failures."""
        if not self._others:
            return ()
        return tuple(
            rule
            for rule in self._others
            if rule.concerns(call)
            and (isinstance(rule, Corrupt) or (rule.is_named(call) and rule.happens()))
        )

    def forget(self, rule: Rule) -> None:
        self.failures = tuple(each for each in self.failures if each is not rule)
        self._others = tuple(each for each in self._others if each is not rule)

    def _add(self, rule: R) -> R:
        self.run(lambda: self._add_other(rule))
        return rule

    def _add_failure(self, rule: Fail) -> None:
        self.failures += (rule,)

    def _add_other(self, rule: Rule) -> None:
        self._others += (rule,)

    def _meant(self, name: str, api: Api, options: Options, *own: str) -> tuple[int, Filter]:
        """The API of a fault and its options, once they are found to be such that can be met.

        Args:
            name: What is called.
            api: As it was given.
            options: As they were given.
            own: Further options that the call takes.
        """
        for each in options:
            if each not in _OPTIONS:
                raise TypeError(_unknown_option(name, each, [*_OPTIONS, *own]))
        key, chosen = self._key(api), Filter(**options)
        cls = for_key(key)
        for each in ("topic", "partition", "group"):
            if getattr(chosen, each) is not None and each not in can_name(cls):
                known = [one for one in _OPTIONS if one in (*can_name(cls), "node", "client_id")]
                raise ConfigError(
                    f"{schema_of(cls).api} requests name no {each}: this would never happen; what"
                    f" they can be told by is {', '.join(known)}"
                )
        if None not in (chosen.topic, chosen.group) and names_resources(cls):
            raise ConfigError(f"what {schema_of(cls).api} is about is a topic or a group: name one")
        if chosen.node is not None and chosen.node not in self.nodes:
            known_nodes = ", ".join(map(str, self.nodes))
            raise ConfigError(f"there is no node {chosen.node}: they are {known_nodes}")
        return key, chosen

    def _key(self, api: Api) -> int:
        """The key of an API, however it is named."""
        key = _key_of(api)
        if key not in self.served:
            raise ConfigError(f"{REQUESTS[key][1]}: the broker does not serve this API")
        return key


def _unknown_option(name: str, given: str, known: list[str]) -> str:
    near = get_close_matches(given, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"faults.{name}() has no option {given!r}: {hint}It takes {', '.join(known)}"


def _key_of(api: Api) -> int:
    if isinstance(api, str):
        name = api.removesuffix("Request")
        if name in _KEYS:
            return _KEYS[name]
        near = get_close_matches(name, _KEYS, n=3, cutoff=0.5)
        raise ConfigError(f"no API is called {api!r}" + (f"; {', '.join(near)}?" if near else ""))
    if isinstance(api, type) and issubclass(api, Request):
        return schema_of(api).key
    check_type("an API", api, int, "a request class, a name or a key")
    if api not in REQUESTS:
        raise ConfigError(f"no API has the key {api}")
    return api


def _error(error: Error) -> BrokerError:
    if isinstance(error, BrokerError):
        return error
    code: object = getattr(error, "code", error)  # a class, or the code itself
    check_type("an error", code, int, "a BrokerError, or its code")
    found = for_code(cast(int, code))
    if code == 0 or isinstance(found, UnknownBrokerError):
        raise ValueError(f"{error!r} is no error code of Kafka")
    return found


def _when(when: When) -> When:
    if when not in ("before", "after"):
        raise ValueError(f"when is 'before' or 'after', not {when!r}")
    return when
