from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_decoders_stand_three_seconds_of_broken_bytes() -> None:
    answer = fuzz("--seconds", "3", "--seed", "1")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    closing = re.search(
        r"([\d,]+) inputs \(records .*, messages .*\), seed 1, 0 failures", answer.stdout
    )
    assert closing
    assert int(closing[1].replace(",", "")) > 1000


def test_a_live_broker_stands_ten_seconds_of_absurd_requests() -> None:
    answer = fuzz("--seconds", "10", "--seed", "1", "--target", "broker")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    closing = re.search(r"([\d,]+) inputs \(broker .*\), seed 1, 0 failures", answer.stdout)
    assert closing
    assert int(closing[1].replace(",", "")) > 200


def test_a_bug_planted_in_a_live_broker_is_found() -> None:
    answer = fuzz("--seconds", "20", "--target", "planted-broker")

    assert answer.returncode == 1
    assert "the broker met a bug" in answer.stderr
    assert "has no attribute 'planted'" in answer.stderr


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("planted", "it failed as shown above"),
        ("planted-crash", "it ended the process with SIGSEGV"),
        ("planted-hang", "it hangs"),
        ("planted-greed", "it failed as shown above"),
    ],
)
def test_a_planted_error_is_found_kept_and_repeated(target: str, words: str) -> None:
    answer = fuzz("--seconds", "10", "--target", target)

    assert answer.returncode == 1
    assert f"seed 0: {words}" in answer.stdout
    assert "1 failures" in answer.stdout
    if target == "planted":
        again = re.search(r"--target (\S+) --replay (\S+)", answer.stdout)
        assert again
        assert "not a ProtocolError" in fuzz("--target", again[1], "--replay", again[2]).stderr


def test_a_seed_gives_the_same_inputs_each_time() -> None:
    first, second = (fuzz("--seconds", "10", "--target", "planted").stdout for _ in range(2))
    other = fuzz("--seconds", "10", "--target", "planted", "--seed", "5").stdout

    assert first == second
    assert first.replace("seed 0", "") != other.replace("seed 5", "")
