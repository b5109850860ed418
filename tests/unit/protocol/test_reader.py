from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_aio.protocol import _reader_py, reader
from kafka_aio.protocol.layout import layout_of
from tests.unit.protocol.samples import MESSAGES

ROOT = Path(__file__).parent.parent.parent.parent
HIDE = "import sys; sys.modules['kafka_aio.protocol._reader'] = None; "
SHOW = "from kafka_aio.protocol import reader; print(reader.IS_COMPILED)"


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KAFKA_AIO_")}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=kept | settings, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_plain_decoder_can_be_forced() -> None:
    assert run(SHOW, KAFKA_AIO_PURE="1").stdout == "False\n"


def test_without_the_compiled_decoder_the_plain_one_serves() -> None:
    assert run(HIDE + SHOW).stdout == "False\n"


def test_the_compiled_decoder_can_be_required() -> None:
    done = run(HIDE + SHOW, KAFKA_AIO_REQUIRE_COMPILED="1")

    assert done.returncode == 1
    assert "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr


@pytest.mark.skipif(not reader.IS_COMPILED, reason="the compiled decoder was not built")
def test_the_compiled_decoder_is_taken_where_it_is() -> None:
    assert run(SHOW).stdout == "True\n"


def test_both_decoders_have_the_same_face() -> None:
    layout = layout_of(MESSAGES[0], 0)

    assert callable(reader.compile_reader(layout))
    assert callable(_reader_py.compile_reader(layout))
    assert all(issubclass(failure, Exception) for failure in reader.FAILURES)


def test_importing_the_protocol_imports_no_family_of_messages_but_what_it_needs() -> None:
    done = run(
        "import sys, kafka_aio.protocol.frame, kafka_aio.protocol.versions\n"
        "prefix = 'kafka_aio.protocol.messages.'\n"
        "print(sorted(n.removeprefix(prefix) for n in sys.modules if n.startswith(prefix)))"
    )

    assert done.stdout == "['api_versions', 'headers', 'index']\n"
