from __future__ import annotations

from pathlib import Path

import pytest

from kafka_aio.cli.credentials import TokenFile
from kafka_aio.errors import ConfigError
from tests.kafka.tokens import claims, unsecured

TOKEN = unsecured(claims(lifetime=300))


async def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    provider = TokenFile(str(file))
    file.write_text("first\n")
    first = await provider()
    file.write_text(f"  {TOKEN}\n")
    second = await provider()

    assert (first.value, first.expires_at) == ("first", None)
    assert second.value == TOKEN


async def test_a_token_file_knows_whether_its_token_is_over(tmp_path: Path) -> None:
    file = tmp_path / "token"
    provider = TokenFile(str(file))
    file.write_text(TOKEN)
    ends_at = (await provider()).expires_at

    assert ends_at is not None
    assert not provider.has_expired(now=ends_at - 1)
    assert provider.has_expired(now=ends_at)


async def test_a_token_without_an_end_does_not_expire(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("opaque")
    provider = TokenFile(str(file))
    await provider()

    assert not provider.has_expired(now=1e11)


def test_a_token_file_does_not_show_what_is_in_it() -> None:
    assert repr(TokenFile("t")) == "<TokenFile t>"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read .*token: No such file"),
        ("", "--token-file .*token: it is empty"),
        ("two words", "--token-file .*token: a bearer token has letters"),
    ],
)
async def test_a_file_without_a_token_is_named(
    tmp_path: Path, content: str | None, words: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)

    with pytest.raises(ConfigError, match=words):
        await TokenFile(str(file))()
