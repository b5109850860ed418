from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.errors import AuthenticationError, KafkaError, ProtocolError
from kafka_aio.protocol.sasl import Derive, Done, Scram, Send, Step
from kafka_aio.protocol.sasl.scram import MAX_ITERATIONS, MAX_MESSAGE, MAX_SALT
from tests.unit.protocol.sasl_broker import ScramBroker, derive, failed, hmac, salted

SALT = base64.b64encode(b"pepper").decode()
every_mechanism = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])


def sent(step: Step) -> bytes:
    assert isinstance(step, Send)
    return step.data


def started(password: str = "pencil") -> Scram:
    exchange = Scram("SCRAM-SHA-256", "user", password, "ours")
    exchange.start()
    return exchange


def proven(broker: ScramBroker, password: str = "pencil") -> tuple[Scram, bytes]:
    """An exchange that has sent its proof, and what the broker answers to that."""
    exchange = Scram(broker.mechanism, broker.username, password, "ours", broker.tokens)
    asked = exchange.receive(broker.first(sent(exchange.start())))
    return exchange, broker.final(sent(exchange.derived(derive(asked))))


def test_the_example_of_rfc_7677() -> None:
    exchange = Scram("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"

    assert sent(exchange.start()) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    asked = exchange.receive(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert sent(exchange.derived(derive(asked))) == (
        b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    done = exchange.receive(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert done == Done()


def test_the_same_with_sha_512_is_what_the_rfc_describes() -> None:
    exchange = Scram("SCRAM-SHA-512", "user", "pencil", "ours")
    first = b"n=user,r=ours"
    server_first = b"r=ours+theirs,s=" + SALT.encode() + b",i=4096"
    final = b"c=biws,r=ours+theirs"
    signed = first + b"," + server_first + b"," + final
    key = salted("sha512", b"pencil", b"pepper", 4_096)
    client_key = hmac("sha512", key, b"Client Key")
    signature = hmac("sha512", hashlib.sha512(client_key).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_signature = hmac("sha512", hmac("sha512", key, b"Server Key"), signed)

    assert sent(exchange.start()) == b"n,," + first
    asked = exchange.receive(server_first)
    assert asked == Derive("sha512", b"pencil", b"pepper", 4_096)
    assert derive(asked) == key
    assert sent(exchange.derived(key)) == final + b",p=" + base64.b64encode(proof)
    assert exchange.receive(b"v=" + base64.b64encode(server_signature)) == Done()


@every_mechanism
@settings(max_examples=25)
@given(
    username=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    password=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    nonce=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=",")),
    salt=st.binary(min_size=1, max_size=64),
    iterations=st.integers(4_096, 5_000),
    tokens=st.booleans(),
)
def test_a_broker_and_we_come_to_terms(mechanism: str, nonce: str, **credentials: Any) -> None:
    broker = ScramBroker(mechanism, nonce=nonce + "!", **credentials)

    exchange, answer = proven(broker, credentials["password"])

    assert broker.proven
    assert exchange.receive(answer) == Done()
    assert repr(exchange) == f"<Scram {mechanism} done>"


@pytest.mark.parametrize(
    ("username", "escaped"),
    [("a=b", "a=3Db"), ("a,b", "a=2Cb"), ("=2C", "=3D2C"), ("älice", "älice")],
)
def test_commas_and_equal_signs_in_a_name_are_escaped(username: str, escaped: str) -> None:
    exchange = Scram("SCRAM-SHA-256", username, "pencil", "ours")

    assert sent(exchange.start()) == f"n,,n={escaped},r=ours".encode()


def test_a_delegation_token_says_that_it_is_one() -> None:
    exchange = Scram("SCRAM-SHA-512", "token-id", "token-hmac", "ours", tokenauth=True)

    assert sent(exchange.start()) == b"n,,n=token-id,r=ours,tokenauth=true"


@pytest.mark.parametrize("password", ["\u00a0x\u00ad", "ﬁ\u2168"])  # SASLprep changes these
def test_a_password_is_not_normalised_because_kafka_does_not(password: str) -> None:
    broker = ScramBroker("SCRAM-SHA-256", "user", password)

    exchange, answer = proven(broker, password)

    assert exchange.receive(answer) == Done()


def test_extensions_that_we_do_not_know_are_part_of_what_is_signed() -> None:
    broker = ScramBroker("SCRAM-SHA-256", "user", "pencil", extensions=",x=1,fancy=a=b")

    exchange, answer = proven(broker)

    assert exchange.receive(answer + b",x=1") == Done()


def test_a_wrong_password_is_the_brokers_error() -> None:
    exchange, answer = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"), "pen")

    with pytest.raises(
        AuthenticationError, match="SCRAM-SHA-256: the broker refuses us: invalid-proof"
    ):
        exchange.receive(answer)
    assert failed(exchange)


@every_mechanism
def test_a_broker_that_does_not_know_the_password_is_found_out(mechanism: str) -> None:
    exchange, answer = proven(ScramBroker(mechanism, "user", "pencil"))
    signature = bytearray(base64.b64decode(answer[2:]))
    signature[-1] ^= 1

    with pytest.raises(AuthenticationError, match="could not prove that it knows the password"):
        exchange.receive(b"v=" + base64.b64encode(signature))
    assert failed(exchange)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_signature_of_another_length_is_wrong(length: int) -> None:
    exchange, _ = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"))

    with pytest.raises(AuthenticationError, match="could not prove"):
        exchange.receive(b"v=" + base64.b64encode(bytes(length)))


def test_an_error_of_the_broker_is_shown_bounded_and_printable() -> None:
    exchange, _ = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"))

    with pytest.raises(AuthenticationError) as refused:
        exchange.receive(b"e=\x1b[31m\xff\n" + b"x" * 3_000 + b",ext=1")

    text = str(refused.value)
    assert text.startswith("SCRAM-SHA-256: the broker refuses us: ?[31m\ufffd?xxx")
    assert text.endswith("x...")
    assert len(text) < 300


def test_an_error_may_come_at_once() -> None:
    with pytest.raises(AuthenticationError, match="refuses us: unknown-user"):
        started().receive(b"e=unknown-user")


@pytest.mark.parametrize("nonce", ["theirs", "ours", "our", "Ours+theirs", "+ours"])
def test_a_nonce_that_does_not_go_on_from_ours_is_refused(nonce: str) -> None:
    with pytest.raises(AuthenticationError, match="nonce does not go on from ours"):
        started().receive(f"r={nonce},s={SALT},i=4096".encode())


@pytest.mark.parametrize("iterations", ["0", "1", "4095"])
def test_too_few_iterations_are_refused(iterations: str) -> None:
    with pytest.raises(AuthenticationError, match=f"asks for {iterations} iterations, and below"):
        started().receive(f"r=ours+,s={SALT},i={iterations}".encode())


@pytest.mark.parametrize("iterations", ["1000001", "2147483647", "9" * 4_000])
def test_too_many_iterations_are_refused(iterations: str) -> None:
    with pytest.raises(AuthenticationError, match="asks for more than 1,000,000 iterations"):
        started().receive(f"r=ours+,s={SALT},i={iterations}".encode())


@pytest.mark.parametrize("iterations", [4_096, MAX_ITERATIONS])
def test_iterations_at_the_bounds_are_fine(iterations: int) -> None:
    step = started().receive(f"r=ours+,s={SALT},i={iterations}".encode())

    assert step == Derive("sha256", b"pencil", b"pepper", iterations)


@pytest.mark.parametrize(
    ("salt", "text"),
    [
        ("", "salt has 0 bytes"),
        (base64.b64encode(bytes(MAX_SALT + 1)).decode(), "salt has 1025 bytes"),
    ],
)
def test_a_salt_that_cannot_be_one_is_refused(salt: str, text: str) -> None:
    with pytest.raises(ProtocolError, match=f"SCRAM-SHA-256: the broker's {text}"):
        started().receive(f"r=ours+,s={salt},i=4096".encode())


def test_the_longest_salt_is_fine() -> None:
    salt = bytes(MAX_SALT)

    step = started().receive(b"r=ours+,s=" + base64.b64encode(salt) + b",i=4096")

    assert step == Derive("sha256", b"pencil", salt, 4_096)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "r=ours+",
        f"s={SALT},i=4096",
        "r=ours+,i=4096",
        f"r=ours+,s={SALT}",
        f"s={SALT},r=ours+,i=4096",
        f"r=ours+,s={SALT},i=",
        f"r=ours+,s={SALT},i=-1",
        f"r=ours+,s={SALT},i=4_096",
        f"r=ours+,s={SALT},i=\u0664\u0660\u0669\u0666",
        f"r=ours+,s={SALT},i=4096,",
        f"r=ours+,s={SALT},i=4096,x",
        f"r=ours+,s={SALT},i=4096\n",
        f"r=ours+\u00e9,s={SALT},i=4096",
        "r=ours+,s=c G,i=4096",
        "r=ours+,s=cGVwcGVy=,i=4096",
        "r=ours+,s=cGV,i=4096",
        "r=ours+,s==,i=4096",
        "r=ours+,s=c=GV,i=4096",
        f"v={SALT}",
    ],
)
def test_a_first_message_of_another_form_is_refused(message: str) -> None:
    with pytest.raises(ProtocolError, match="the broker's first message is not r="):
        started().receive(message.encode())


@pytest.mark.parametrize(
    "message", [b"", b"v", b"x=1", b"v=a b", b"v=abc", b"v=YQ==,", b"r=ours+", b"v\0"]
)
def test_a_final_message_of_another_form_is_refused(message: bytes) -> None:
    exchange, _ = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"))

    with pytest.raises(ProtocolError, match="the broker's final message is not v="):
        exchange.receive(message)


@pytest.mark.parametrize(
    "message", [f"m=must,r=ours+,s={SALT},i=4096", f"r=ours+,s={SALT},i=4096,m=must"]
)
def test_an_extension_that_the_broker_insists_on_is_refused(message: str) -> None:
    with pytest.raises(AuthenticationError, match=r"insists on an extension \(m=\)"):
        started().receive(message.encode())


def test_a_last_extension_that_the_broker_insists_on_is_refused() -> None:
    exchange, answer = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"))

    with pytest.raises(AuthenticationError, match=r"insists on an extension \(m=\)"):
        exchange.receive(answer + b",m=must")


def test_a_message_that_is_too_long_is_refused_unread() -> None:
    message = f"r=ours+,s={SALT},i=4096,x=".encode().ljust(MAX_MESSAGE + 1, b"x")

    with pytest.raises(ProtocolError, match="4,097 bytes, more than 4,096"):
        started().receive(message)
    assert isinstance(started().receive(message[:MAX_MESSAGE]), Derive)


@pytest.mark.parametrize("nonce", ["", "a,b", "a b", "é", "a\n"])
def test_a_nonce_of_ours_that_cannot_be_one_is_refused(nonce: str) -> None:
    with pytest.raises(ValueError, match="a nonce is printable ASCII without commas"):
        Scram("SCRAM-SHA-256", "user", "pencil", nonce)


def test_another_mechanism_is_refused() -> None:
    with pytest.raises(ValueError, match="is one of SCRAM-SHA-256, SCRAM-SHA-512, not 'SCRAM-SHA"):
        Scram("SCRAM-SHA-1", "user", "pencil", "ours")


@st.composite
def almost_right(draw: st.DrawFn, message: bytes) -> bytes:
    """A message with some bytes changed, lost or added."""
    changed = bytearray(message)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(changed)))
        changed[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(changed)


@given(almost_right(f"r=ours+theirs,s={SALT},i=4096".encode()))
def test_a_first_message_that_is_almost_right_leads_to_a_sound_derivation_or_our_error(
    message: bytes,
) -> None:
    exchange = started()

    try:
        step = exchange.receive(message)
    except KafkaError:
        assert failed(exchange)
    else:
        assert isinstance(step, Derive)
        assert 4_096 <= step.iterations <= MAX_ITERATIONS
        assert 0 < len(step.salt) <= MAX_SALT


@settings(max_examples=50)
@given(st.data())
def test_only_the_right_signature_is_believed(data: st.DataObject) -> None:
    exchange, answer = proven(ScramBroker("SCRAM-SHA-256", "user", "pencil"))
    message = data.draw(almost_right(answer))

    try:
        step = exchange.receive(message)
    except KafkaError:
        assert failed(exchange)
    else:
        assert step == Done()
        signature = message[2:].partition(b",")[0]
        assert base64.b64decode(signature) == base64.b64decode(answer[2:])


def test_aiokafka_sends_the_same_and_believes_the_same() -> None:
    conn = pytest.importorskip("aiokafka.conn")
    broker = ScramBroker("SCRAM-SHA-512", "us=er,", "pencil")
    theirs = conn.ScramAuthenticator(
        loop=None,
        sasl_plain_username=broker.username,
        sasl_plain_password=broker.password,
        sasl_mechanism=broker.mechanism,
    )
    ours = Scram(broker.mechanism, broker.username, broker.password, theirs._nonce)

    first, _ = theirs._step(None)
    assert sent(ours.start()) == first
    asked = broker.first(first)
    final, _ = theirs._step(asked)
    assert sent(ours.derived(derive(ours.receive(asked)))) == final
    signature = broker.final(final)
    assert theirs._step(signature) is None
    assert ours.receive(signature) == Done()


@every_mechanism
def test_kafka_python_sends_the_same_and_believes_the_same(mechanism: str) -> None:
    scram = pytest.importorskip("kafka.net.sasl.scram")
    broker = ScramBroker(mechanism, "user", "pencil")
    theirs = scram.ScramClient(broker.username, broker.password, mechanism)
    ours = Scram(mechanism, broker.username, broker.password, theirs.nonce.decode())

    first = theirs.first_message()
    assert sent(ours.start()) == first
    asked = broker.first(first)
    theirs.process_server_first_message(asked)
    assert sent(ours.derived(derive(ours.receive(asked)))) == theirs.final_message()
    signature = broker.final(theirs.final_message())
    theirs.process_server_final_message(signature)
    assert ours.receive(signature) == Done()
