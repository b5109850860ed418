"""The plugin of pytest: an embedded broker and a topic of its own for every test, as fixtures.

    def test_orders_are_billed(kafka_broker, kafka_topic):
        bill(kafka_broker.bootstrap_servers, topic=kafka_topic)

Both are plain fixtures: the broker runs in a thread, so it serves sync tests and async ones alike.
pytest loads this module in every run, so it imports nothing of ours until a fixture is used.

One broker serves the whole run: to start it takes longer than most tests. `kafka_topic` keeps
tests apart. After a test that closes it, the next ones have a new one, with nothing in it. Under
pytest-xdist each worker has its own. In the settings of pytest:

    kafka_broker_scope = session | package | module | class | function
    kafka_broker_options = num.partitions=3      (one a line: options of Kafka's brokers)

Who wants more of it overrides the fixture `kafka_broker_arguments`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafka_aio.broker import BrokerThread

SCOPES = ("session", "package", "module", "class", "function")

MARK = """\
kafka_topic(partitions=1, configs=None): what the topic of the fixture `kafka_topic` is like; \
configs are Kafka's options of topics"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what can be set."""
    parser.addini("kafka_broker_scope", "how long a kafka_broker lives", default="session")
    parser.addini("kafka_broker_options", "options of the kafka_broker, name=value", "linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and check what was set."""
    config.addinivalue_line("markers", MARK)
    scope = config.getini("kafka_broker_scope")
    if scope not in SCOPES:
        raise pytest.UsageError(f"kafka_broker_scope is one of {', '.join(SCOPES)}, not {scope!r}")
    for line in config.getini("kafka_broker_options"):
        if "=" not in line:
            raise pytest.UsageError(f"kafka_broker_options has lines of name=value, not {line!r}")


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getini("kafka_broker_scope")


@pytest.fixture(scope=_scope)
def kafka_broker_arguments() -> dict[str, Any]:
    """What `kafka_broker` is made with, such as nodes=3: override it to say so."""
    return {}


@pytest.fixture(scope=_scope)
def _kafka_brokers(
    kafka_broker_arguments: dict[str, Any], pytestconfig: pytest.Config
) -> Iterator[Callable[[], BrokerThread]]:
    """What gives the broker to one test after the other; another one, if a test has closed it."""
    from kafka_aio.broker import BrokerThread

    lines = pytestconfig.getini("kafka_broker_options")
    named = (line.partition("=") for line in lines)
    options = {name.strip(): value.strip() for name, _, value in named}
    arguments = {"options": options, **kafka_broker_arguments}
    brokers: list[BrokerThread] = []
    with ExitStack() as started:

        def running() -> BrokerThread:
            if not brokers or not brokers[-1].is_running:
                brokers.append(started.enter_context(BrokerThread(**arguments)))
            return brokers[-1]

        yield running


@pytest.fixture
def kafka_broker(_kafka_brokers: Callable[[], BrokerThread]) -> Iterator[BrokerThread]:
    """A Kafka broker in memory (`kafka_aio.broker.BrokerThread`). Faults end with their test."""
    broker = _kafka_brokers()
    yield broker
    if not broker.is_running:
        return  # the test has closed it
    broker.faults.clear()
    for node in broker.stopped_nodes():
        broker.start_node(node)


@pytest.fixture
def kafka_topic(kafka_broker: BrokerThread, request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test has. `@pytest.mark.kafka_topic(partitions=3)`."""
    mark = request.node.get_closest_marker("kafka_topic")
    name = _topic_name(request.node.name, kafka_broker)
    if mark is None:
        kafka_broker.create_topic(name)
    else:
        kafka_broker.create_topic(name, *mark.args, **mark.kwargs)
    return name


def _topic_name(test: str, broker: BrokerThread) -> str:
    """The name of the test as a topic can have it, and a number if there is one already."""
    legal = "".join(each if each.isascii() and each.isalnum() else "-" for each in test)
    name = legal.strip("-")[:200] or "test"
    taken = set(broker.topics())
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)
