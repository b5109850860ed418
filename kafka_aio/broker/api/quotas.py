"""DescribeClientQuotas: nobody is slowed down here, so there are none. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.errors import BrokerError, InvalidRequest, UnsupportedByBroker
from kafka_aio.protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call

_IP: Final = "ip"
_ENTITIES: Final = ("user", "client-id", _IP)
_EXACT, _DEFAULT, _ANY = 0, 1, 2


def describe(request: DescribeClientQuotasRequest, call: Call) -> DescribeClientQuotasResponse:
    """No quotas, once the filter is found to be one."""
    try:
        call.check_faults()
        seen: list[str] = []
        for component in request.components:
            _check(component, seen)
            seen.append(component.entity_type)
        if _IP in seen and len(seen) > 1:
            raise InvalidRequest(
                "Invalid entity filter component combination. IP filter component should not be "
                "used with user or clientId filter component."
            )
    except BrokerError as error:
        return DescribeClientQuotasResponse(
            throttle_time_ms=0,
            error_code=error.code,
            error_message=error.message or None,
            entries=None,
        )
    return DescribeClientQuotasResponse(
        throttle_time_ms=0, error_code=0, error_message=None, entries=[]
    )


def _check(component: ComponentData, seen: list[str]) -> None:
    """Whether a part of a filter can be.

    Raises:
        InvalidRequest, UnsupportedByBroker: It cannot, and why.
    """
    kind, match = component.entity_type, component.match
    if not kind:
        raise InvalidRequest("Invalid empty entity type.")
    if kind in seen:
        raise InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in _ENTITIES:
        raise UnsupportedByBroker(f"Unsupported entity type {kind}")
    if component.match_type not in {_EXACT, _DEFAULT, _ANY}:
        raise InvalidRequest(f"Unknown match type {component.match_type}")
    if component.match_type == _EXACT and match is None:
        raise InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if component.match_type != _EXACT and match is not None:
        name = "MATCH_TYPE_DEFAULT" if component.match_type == _DEFAULT else "MATCH_TYPE_SPECIFIED"
        raise InvalidRequest(f"Request specified {name}, but also specified a match string.")
