from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import pytest

from kafka_aio.admin import Admin, ConfigChange, ConfigResource, NewTopic
from kafka_aio.config import AdminConfig, ProducerConfig
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaTimeoutError,
    ProtocolError,
    StateError,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest
from tests.net.admin_answers import all_is_well
from tests.net.admin_calls import (
    CALLS,
    CHANGES,
    ORDERS,
    SET,
    Called,
    cancelled_after,
    each_call,
    is_well,
)
from tests.net.clusters import admin_of, scripted
from tests.net.server import HOST, REFUSED, says, says_nothing, until, writes
from tests.net.test_cluster import ALICE, refusing_port

NOWHERE = f"{HOST}:{refusing_port()}"


async def test_it_is_open_inside_of_async_with() -> None:
    async with scripted(1) as script:
        all_is_well(script)

        async with admin_of(script.bootstrap()) as admin:
            assert await is_well(admin)


async def test_it_may_be_started_in_one_task_and_closed_in_another() -> None:
    async with scripted(1) as script:
        all_is_well(script)
        admin = admin_of(script.bootstrap())

        await asyncio.create_task(admin.start())
        worked = await asyncio.create_task(is_well(admin))
        await asyncio.create_task(admin.aclose())
        await admin.aclose()  # the second does nothing

        assert worked
        assert repr(admin) == f"<Admin at {script.bootstrap()}: closed>"


async def test_it_may_be_made_of_a_configuration_or_of_the_names_that_kafka_has() -> None:
    async with scripted(1) as script:
        config = AdminConfig(bootstrap_servers=script.bootstrap(), client_id="me")
        names = {"bootstrap.servers": script.bootstrap(), "client.id": "me"}

        for admin in (Admin(config), Admin.from_kafka(names)):
            async with admin:
                pass

        assert {asked.client_id for asked in script.asked(MetadataRequest)} == {"me"}


def test_wrong_options_are_refused_before_anything_is_dialled() -> None:
    with pytest.raises(ConfigError, match="did you mean 'bootstrap_servers'"):
        Admin(bootstrap_server=NOWHERE)
    with pytest.raises(ConfigError, match="bootstrap_servers is missing"):
        Admin()
    with pytest.raises(ConfigError, match="retries"):
        Admin(bootstrap_servers=NOWHERE, retries=-1)
    with pytest.raises(ConfigError, match="bootstrap"):
        Admin.from_kafka({"bootstrap.server": NOWHERE})


@pytest.mark.parametrize(
    "config",
    [NOWHERE, {"bootstrap_servers": NOWHERE}, ProducerConfig(bootstrap_servers=NOWHERE)],
    ids=["text", "mapping", "other"],  # the port is another one in each process
)
def test_what_is_no_configuration_of_an_admin_is_said_so(config: Any) -> None:
    with pytest.raises(TypeError, match=r"Admin\(bootstrap_servers=\.\.\.\)"):
        Admin(config)


def test_a_configuration_and_options_are_one_too_many() -> None:
    with pytest.raises(TypeError, match="not both"):
        Admin(AdminConfig(bootstrap_servers=NOWHERE), retries=1)


def test_secrets_do_not_show() -> None:
    admin = Admin(bootstrap_servers=NOWHERE, **ALICE)

    assert repr(admin) == f"<Admin at {NOWHERE}: new>"


@each_call
async def test_before_it_is_started_a_call_says_what_to_do(call: Called) -> None:
    admin = Admin(bootstrap_servers=NOWHERE)

    with pytest.raises(StateError, match=r"not started: .* `async with`, or await start\(\)"):
        await call(admin)


@each_call
async def test_once_it_is_closed_a_call_says_so(call: Called) -> None:
    async with scripted(1) as script:
        async with admin_of(script.bootstrap()) as admin:
            pass

        with pytest.raises(StateError, match="the admin is closed"):
            await call(admin)


@each_call
async def test_from_another_loop_a_call_says_so(call: Called) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:

        def elsewhere() -> None:
            asyncio.run(call(admin))

        with pytest.raises(StateError, match="another event loop: make one for each loop"):
            await asyncio.to_thread(elsewhere)


async def test_it_is_not_closed_from_another_loop() -> None:
    async with scripted(1) as script:
        all_is_well(script)
        async with admin_of(script.bootstrap()) as admin:
            with pytest.raises(StateError, match="another event loop"):
                await asyncio.to_thread(lambda: asyncio.run(admin.aclose()))

            assert await is_well(admin)


def test_it_can_be_closed_after_the_end_of_its_loop() -> None:
    async def forget() -> Admin:
        async with scripted(1) as script:
            admin = admin_of(script.bootstrap())
            await admin.start()
            return admin

    admin = asyncio.run(forget())
    asyncio.run(admin.aclose())

    assert "closed" in repr(admin)


async def test_it_is_started_once() -> None:
    async with scripted(1) as script:
        async with admin_of(script.bootstrap()) as admin:
            with pytest.raises(StateError, match="started before; make a new one"):
                await admin.start()
        with pytest.raises(StateError, match="started before; make a new one"):
            await admin.start()


async def test_closing_what_was_never_started_does_nothing() -> None:
    admin = Admin(bootstrap_servers=NOWHERE)

    await admin.aclose()

    assert repr(admin) == f"<Admin at {NOWHERE}: new>"


async def test_a_start_that_fails_names_every_address_and_leaves_nothing_open() -> None:
    ports = (refusing_port(), refusing_port())
    admin = admin_of(",".join(f"{HOST}:{port}" for port in ports))

    with pytest.raises(KafkaConnectionError) as raised:
        await admin.start(timeout=0.3)

    assert all(f"{HOST}:{port}" in str(raised.value) for port in ports)
    assert "closed" in repr(admin)


async def test_a_start_that_is_refused_says_why_and_leaves_nothing_open() -> None:
    async with scripted(1) as script:
        script.react(SaslAuthenticateRequest, says(REFUSED))

        with pytest.raises(AuthenticationError):
            async with admin_of(script.bootstrap(), **ALICE):
                pass

        await script.brokers[1].peers[0].wait_gone()


async def test_a_start_at_the_wrong_port_says_why_and_leaves_nothing_open() -> None:
    async with scripted(1) as script:
        script.react(ApiVersionsRequest, writes(b"HTTP/1.1 400 Bad Request\r\n"))

        with pytest.raises(ProtocolError, match="HTTP"):
            await admin_of(script.bootstrap()).start()

        await script.brokers[1].peers[0].wait_gone()


async def test_a_start_may_be_cancelled_at_any_turn_and_leaves_nothing_open() -> None:
    async with scripted(1) as script:
        admin, turns = admin_of(script.bootstrap()), 0
        while not await cancelled_after(turns, admin.start()):
            assert "open" not in repr(admin)
            admin, turns = admin_of(script.bootstrap()), turns + 1
        await admin.aclose()

        assert turns > 5
        for peer in script.brokers[1].peers:
            await peer.wait_gone()


async def test_closing_ends_a_start_that_is_under_way() -> None:
    async with scripted(1) as script:
        script.react(ApiVersionsRequest, says_nothing)
        admin = admin_of(script.bootstrap())
        task = asyncio.create_task(admin.start())
        await until(lambda: bool(script.asked(ApiVersionsRequest)))

        await admin.aclose()

        with pytest.raises(StateError, match="closed"):
            await task


async def test_closing_ends_a_call_that_is_under_way() -> None:
    async with scripted(1) as script:
        async with admin_of(script.bootstrap()) as admin:
            question = asyncio.create_task(admin.describe_cluster())
            change = asyncio.create_task(admin.delete_topics(["orders"]))
            await script.brokers[1].next()
            await script.brokers[1].next()

        with pytest.raises(StateError, match="the admin is closed"):
            await question
        with pytest.raises(KafkaConnectionError, match="look before you repeat it") as raised:
            await change
        assert raised.value.indefinite


async def test_dropped_while_open_it_warns_once_and_ends() -> None:
    async with scripted(1) as script:
        admin: Admin | None = admin_of(script.bootstrap())
        assert admin is not None
        await admin.start()
        await until(lambda: bool(script.asked(MetadataRequest)))

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            admin = None
            gc.collect()
            for peer in script.brokers[1].peers:
                await peer.wait_gone()

        (warning,) = caught
        assert warning.category is ResourceWarning
        assert str(warning.message) == (
            f"<Admin at {script.bootstrap()}: open> was not closed: use `async with`"
        )


def test_forgotten_at_the_end_of_its_loop_it_warns_once_and_says_nothing_else(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def forget() -> None:
        async with scripted(1) as script:
            await admin_of(script.bootstrap()).start()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(forget(), debug=True)
        gc.collect()

    assert [warning.category for warning in caught] == [ResourceWarning]
    assert capfd.readouterr().err == ""


def test_what_was_never_started_is_dropped_without_a_word() -> None:
    Admin(bootstrap_servers=NOWHERE)

    gc.collect()  # a warning is an error here


async def test_nothing_is_asked_about_nothing() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        before = len(script.brokers[1].seen)

        results: list[object] = [
            await admin.create_topics([]),
            await admin.delete_topics([]),
            await admin.create_partitions({}),
            await admin.describe_topics([]),
            await admin.describe_configs([]),
            await admin.alter_configs({}),
        ]

        assert results == [{}] * 6
        assert len(script.brokers[1].seen) == before


WRONG: list[tuple[str, Any, str]] = [
    ("create_topics", "orders", "create_topics takes a list of NewTopic, not one str"),
    ("create_topics", NewTopic("x"), "create_topics takes a list of NewTopic, not one NewTopic"),
    ("create_topics", ["orders"], "each item of create_topics must be NewTopic, not str"),
    ("delete_topics", "orders", "delete_topics takes a list of str, not one str"),
    ("delete_topics", [1], "each item of delete_topics must be str, not int"),
    ("describe_topics", "orders", "describe_topics takes a list of str, not one str"),
    ("create_partitions", ["orders"], "create_partitions takes a dict: the number for each topic"),
    ("create_partitions", {"orders": "3"}, "the number of partitions must be int, not str"),
    ("create_partitions", {1: 3}, "each item of create_partitions must be str, not int"),
    ("describe_configs", ORDERS, "describe_configs takes a list of ConfigResource, not one Config"),
    ("describe_configs", ["orders"], "each item of describe_configs must be ConfigResource, not"),
    ("alter_configs", [ORDERS], "alter_configs takes a dict: a list of changes for each resource"),
    ("alter_configs", {"orders": SET}, "each item of alter_configs must be ConfigResource, not st"),
    ("alter_configs", {ORDERS: {"a": "1"}}, "each item of alter_configs must be ConfigChange, not"),
    ("alter_configs", {ORDERS: SET[0]}, "alter_configs takes a list of ConfigChange, not one Con"),
]


@pytest.mark.parametrize(("call", "given", "text"), WRONG)
async def test_arguments_of_the_wrong_type_are_named(call: str, given: Any, text: str) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        before = len(script.brokers[1].seen)

        with pytest.raises(TypeError) as raised:
            await getattr(admin, call)(given)

        assert str(raised.value).startswith(text)
        assert len(script.brokers[1].seen) == before


async def test_a_topic_cannot_be_created_twice_in_one_call() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        with pytest.raises(ValueError, match="topic 'orders' is named twice"):
            await admin.create_topics([NewTopic("orders"), NewTopic("orders", 3)])


async def test_the_same_question_twice_is_asked_once() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        assert list(await admin.describe_topics(["b", "a", "b"])) == ["b", "a"]
        assert list(await admin.delete_topics(["b", "b"])) == ["b"]
        assert list(await admin.describe_configs([ORDERS, ORDERS])) == [ORDERS]


async def test_a_broker_that_has_no_number_is_refused_before_anything_is_sent() -> None:
    wrong = ConfigResource(ConfigResource.broker(1).kind, "one")
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        before = len(script.brokers[1].seen)

        with pytest.raises(ValueError, match="named by its node id"):
            await admin.alter_configs({ORDERS: SET, wrong: [ConfigChange.delete("a")]})

        assert len(script.brokers[1].seen) == before


@pytest.mark.parametrize("timeout", [0, -1])
async def test_without_any_time_a_call_ends_at_once(timeout: float) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        for name in CHANGES:
            with pytest.raises(KafkaTimeoutError, match=f"{name}: not done in time, after 1") as e:
                await CALLS[name](admin, timeout=timeout)
            assert not e.value.indefinite
        with pytest.raises(KafkaTimeoutError, match="describe_cluster: not done in time"):
            await admin.describe_cluster(timeout=timeout)

        assert not script.asked(DescribeClusterRequest)
        assert await is_well(admin)
