"""FindCoordinator: which node looks after a group or a transactional id. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.errors import BrokerError, CoordinatorNotAvailable, InvalidRequest
from kafka_aio.protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.nodes import Node

GROUP: Final = 0
TRANSACTION: Final = 1

_SEVERAL_KEYS_SINCE: Final = 4

_TEXTS: Final = {
    0: "NONE",
    CoordinatorNotAvailable.code: "The coordinator is not available.",
    InvalidRequest.code: (
        "This most likely occurs because of a request being malformed by the client library or "
        "the message was sent to an incompatible broker. See the broker logs for more details."
    ),
}


def find_coordinator(request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    """Who coordinates each key; before version 4 there is but one."""
    if call.version >= _SEVERAL_KEYS_SINCE:
        found = [_found(call, request.key_type, key) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    only = _found(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=_TEXTS.get(only.error_code, only.error_message),
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _found(call: Call, key_type: int, key: str) -> Coordinator:
    try:
        node = _coordinator(call, key_type, key)
    except BrokerError as error:
        text = error.message
        if key_type not in (GROUP, TRANSACTION, 2):  # the only case in which Kafka says why
            text = _TEXTS[error.code]
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=text
        )
    return Coordinator(
        key=key, node_id=node.id, host=node.host, port=node.port, error_code=0, error_message=""
    )


def _coordinator(call: Call, key_type: int, key: str) -> Node:
    call.check_faults(group=key)
    if key_type not in (GROUP, TRANSACTION):  # share groups are none of ours yet
        raise InvalidRequest()
    # Transactional ids will have a topic of their own; until then it decides for them, too.
    node = call.state.nodes.get(call.state.groups.coordinator_of(key))
    if node is None or not node.is_up:
        raise CoordinatorNotAvailable()
    return node
