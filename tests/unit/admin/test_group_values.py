from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin.group_values import GroupState, GroupType, check_id, words_of


@pytest.mark.parametrize("given", [["empty", "STABLE"], [GroupState.EMPTY, "Stable"]])
def test_states_may_be_written_in_any_case(given: list[Any]) -> None:
    assert words_of("states", given, GroupState) == ["Empty", "Stable"]


@pytest.mark.parametrize("given", [["asleep"], ["unknown"], [GroupState.UNKNOWN], [3]])
def test_a_state_that_does_not_exist_is_refused(given: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"states: there is no .*; give some of empty, prep"):
        words_of("states", given, GroupState)


@pytest.mark.parametrize("given", ["classic", GroupType.CLASSIC, 3])
def test_one_type_is_no_list(given: Any) -> None:
    with pytest.raises(TypeError, match="types takes a list of GroupType, not one "):
        words_of("types", given, GroupType)


@pytest.mark.parametrize("given", [["g"], None, 3])
def test_a_group_is_named_by_a_str(given: Any) -> None:
    with pytest.raises(TypeError, match="a group is named by its id, a str, not "):
        check_id(given)
