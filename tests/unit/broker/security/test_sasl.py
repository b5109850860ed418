from __future__ import annotations

import base64
import hashlib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.broker.security.sasl import Proven, Talk, begin
from kafka_aio.broker.security.tokens import ValidToken
from kafka_aio.broker.security.users import ScramCredential, ScramMechanism, Users
from kafka_aio.errors import SaslAuthenticationFailed
from kafka_aio.protocol.sasl import Derive, Done, Scram, Send
from tests.unit.protocol.sasl_broker import derive, hmac, salted

every_scram = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
SAYS_NOTHING = ""


def users(**passwords: str) -> Users:
    made = Users()
    made.enable(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
    made.add(passwords or {"alice": "secret"}, randbytes=Random(1).randbytes)
    return made


def validate(token: str) -> ValidToken | None:
    return {"good": ValidToken("alice"), "ends": ValidToken("alice", 1_000.5)}.get(token)


def talk(mechanism: str, known: Users | None = None, *, nonce: str = "theirs") -> Talk:
    return begin(mechanism, known or users(), nonce=nonce, validate=validate)


def end(talk: Talk, said: bytes) -> Proven:
    with pytest.raises(StopIteration) as ended:
        talk.send(said)
    proven = ended.value.value
    assert isinstance(proven, Proven)
    return proven


def refusal(talk: Talk, said: bytes) -> str:
    with pytest.raises(SaslAuthenticationFailed) as refused:
        talk.send(said)
    return refused.value.message


# PLAIN.


@pytest.mark.parametrize("said", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_a_password_proves_who_somebody_is(said: bytes) -> None:
    assert end(talk("PLAIN"), said) == Proven("alice")


def test_a_password_may_be_of_any_characters() -> None:
    known = users(ärger="pass word€")

    assert end(talk("PLAIN", known), "\0ärger\0pass word€".encode()).user == "ärger"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0alice\0secret\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0Secret", "Authentication failed: Invalid username or password"),
        (b"\0alice\0secret ", "Authentication failed: Invalid username or password"),
        (b"\0Alice\0secret", "Authentication failed: Invalid username or password"),
        (b"\0al\xffice\0secret", "Authentication failed: Invalid username or password"),
        (
            b"admin\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from"
            " username",
        ),
    ],
)
def test_whatever_else_is_said_by_plain_is_refused_in_kafkas_words(said: bytes, text: str) -> None:
    assert refusal(talk("PLAIN"), said) == text


# SCRAM.


def test_the_example_of_rfc_7677() -> None:
    known = Users()
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    key = salted("sha256", b"pencil", salt, 4_096)
    known.scram[ScramMechanism.SHA_256]["user"] = ScramCredential.from_salted_password(
        ScramMechanism.SHA_256, key, salt, 4_096
    )
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    server = talk("SCRAM-SHA-256", known, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")

    assert server.send(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert end(
        server, b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == Proven("user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_same_with_sha_512_is_what_the_rfc_describes() -> None:
    known = Users()
    key = salted("sha512", b"pencil", b"pepper", 4_096)
    known.scram[ScramMechanism.SHA_512]["user"] = ScramCredential.from_salted_password(
        ScramMechanism.SHA_512, key, b"pepper", 4_096
    )
    first = b"n=user,r=ours"
    server_first = b"r=ourstheirs,s=cGVwcGVy,i=4096"
    final = b"c=biws,r=ourstheirs"
    signed = first + b"," + server_first + b"," + final
    client_key = hmac("sha512", key, b"Client Key")
    signature = hmac("sha512", hashlib.sha512(client_key).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_signature = hmac("sha512", hmac("sha512", key, b"Server Key"), signed)
    server = talk("SCRAM-SHA-512", known)

    assert server.send(b"n,," + first) == server_first
    proven = end(server, final + b",p=" + base64.b64encode(proof))
    assert proven.answer == b"v=" + base64.b64encode(server_signature)


ascii_names = st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1, max_size=20)
passwords = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)


@every_scram
@settings(max_examples=25)
@given(name=ascii_names, password=passwords, salt=st.binary(min_size=1, max_size=40))
def test_our_own_client_is_believed_and_believes(
    mechanism: str, name: str, password: str, salt: bytes
) -> None:
    known = Users()
    known.enable([mechanism])
    known.add({name: password}, randbytes=lambda _: salt)
    client, server = Scram(mechanism, name, password, "ours"), talk(mechanism, known)

    first = client.start()
    assert isinstance(first, Send)
    final = client.receive(server.send(first.data))
    assert isinstance(final, Derive)
    final = client.derived(derive(final))
    assert isinstance(final, Send)
    proven = end(server, final.data)
    assert proven.user == name
    assert client.receive(proven.answer) == Done()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"n,,",
        b"n,,n=alice",
        b"n,,n=,r=ours",
        b"n,,n=alice,r=",
        b"n,,n=al=ice,r=ours",
        b"n,,n=nobody,r=ours",
        b"n,,n=alice,r=ours,",
        b"n,,n=alice,r=ours,tokenauth=true",
        b"n,,n=alice,r=ours,tokenauth=TRUE",
        b"n,,m=must,n=alice,r=ours",
        b"n,a=admin,n=nobody,r=ours",
        "n,,n=ärger,r=ours".encode(),
        b"y,,n=alice,r=ours",
        b"p=tls-server-end-point,,n=alice,r=ours",
    ],
)
@every_scram
def test_a_first_message_of_scram_that_cannot_be_accepted_is_refused_without_a_reason(
    mechanism: str, said: bytes
) -> None:
    assert refusal(talk(mechanism), said) == SAYS_NOTHING


def test_scram_lets_nobody_act_as_somebody_else() -> None:
    assert refusal(talk("SCRAM-SHA-256"), b"n,a=admin,n=alice,r=ours") == (
        "Authentication failed: Client requested an authorization id that is different from"
        " username"
    )


def proof(server: Talk, *, password: str = "secret") -> bytes:
    """The final message of a client that has the password."""
    client = Scram("SCRAM-SHA-256", "alice", password, "ours")
    first = client.start()
    assert isinstance(first, Send)
    final = client.receive(server.send(first.data))
    assert isinstance(final, Derive)
    final = client.derived(derive(final))
    assert isinstance(final, Send)
    return final.data


def test_extensions_of_scram_are_ignored() -> None:
    server = talk("SCRAM-SHA-256")

    assert server.send(b"n,,n=alice,r=ours,trace=17").startswith(b"r=ourstheirs,")


def test_a_wrong_password_is_refused_without_a_reason() -> None:
    server = talk("SCRAM-SHA-256")
    final = proof(server, password="Secret")

    assert refusal(server, final) == SAYS_NOTHING


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"r=ours", b"r=oars"),  # the nonce of another exchange (CVE-2024-56128)
        (b"r=ourstheirs", b"r=ours"),
        (b"c=biws", b"c=eSws"),  # "y,,": we could, did you not?
        (b"c=biws", b"c=cD10bHM="),
        (b"c=biws", b"c="),
        (b"c=biws", b"c=biw"),
        (b",p=", b",p=AAAA"),
        (b",p=", b",q=1,q="),
        (b"c=biws,", b""),
    ],
)
def test_a_final_message_that_was_changed_is_refused_without_a_reason(
    old: bytes, new: bytes
) -> None:
    server = talk("SCRAM-SHA-256")
    final = proof(server).replace(old, new, 1)

    assert refusal(server, final) == SAYS_NOTHING


def test_a_proof_that_was_overheard_is_worth_nothing_in_another_exchange() -> None:
    overheard = proof(talk("SCRAM-SHA-256", nonce="theirs"))
    server = talk("SCRAM-SHA-256", nonce="other")
    server.send(b"n,,n=alice,r=ours")

    assert refusal(server, overheard) == SAYS_NOTHING


@pytest.mark.parametrize(
    "final",
    [
        b"c=biws,r=ours",  # without the nonce, the same proof would be good twice (CVE-2024-56128)
        b"c=biws,r=other",
        b"c=eSws,r=ourstheirs",  # "y,,": somebody has taken channel binding out of our offer
        b"c=cD10bHMtdW5pcXVlLCw=,r=ourstheirs",
        b"c=,r=ourstheirs",
    ],
)
def test_a_proof_is_refused_even_if_it_is_one_of_the_wrong_nonce_or_channel(final: bytes) -> None:
    known = users()
    kept = known.scram[ScramMechanism.SHA_256]["alice"]
    key = salted("sha256", b"secret", kept.salt, kept.iterations)
    server = talk("SCRAM-SHA-256", known)
    signed = b",".join((b"n=alice,r=ours", server.send(b"n,,n=alice,r=ours"), final))
    client_key = hmac("sha256", key, b"Client Key")
    signature = hmac("sha256", hashlib.sha256(client_key).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))

    assert refusal(server, final + b",p=" + base64.b64encode(proof)) == SAYS_NOTHING


@pytest.mark.parametrize(
    ("sent", "name"), [(b"=3D2C", "=2C"), (b"=2C=3D", ",="), (b"a=3Db=2Cc", "a=b,c")]
)
def test_names_are_read_as_they_were_meant(sent: bytes, name: str) -> None:
    server = talk("SCRAM-SHA-256", users(**{name: "secret"}))

    assert server.send(b"n,,n=" + sent + b",r=ours").startswith(b"r=ourstheirs,")


def test_what_was_signed_includes_the_name() -> None:
    known = users(alice="secret")
    keys = known.scram[ScramMechanism.SHA_256]
    keys["bob"] = keys["alice"]
    server = talk("SCRAM-SHA-256", known)
    final = proof(talk("SCRAM-SHA-256", known))
    server.send(b"n,,n=bob,r=ours")

    assert refusal(server, final) == SAYS_NOTHING


# OAUTHBEARER.


def initial(token: str, *, header: str = "n,,", pairs: str = "") -> bytes:
    return f"{header}\x01auth=Bearer {token}\x01{pairs}\x01".encode()


@pytest.mark.parametrize(
    ("said", "expires_at"),
    [
        (initial("good"), None),
        (initial("ends"), 1_000.5),
        (initial("good", pairs="host=example\x01port=9092\x01"), None),
        (initial("good", header="n,a=alice,"), None),
        (b"n,,\x01auth=bEARER   good\x01\x01", None),
        (b"n,,\x01trace=17\x01auth=Bearer good\x01\x01", None),
    ],
)
def test_a_good_token_proves_who_somebody_is(said: bytes, expires_at: float | None) -> None:
    assert end(talk("OAUTHBEARER"), said) == Proven("alice", b"", expires_at)


def test_a_bad_token_is_told_first_and_refused_when_the_client_has_read_that() -> None:
    server = talk("OAUTHBEARER")

    assert server.send(initial("bad")) == b'{"status":"invalid_token"}'
    assert refusal(server, b"\x01") == '{"status":"invalid_token"}'


def test_after_a_bad_token_a_good_one_may_come() -> None:
    server = talk("OAUTHBEARER")
    server.send(initial("bad"))
    server.send(initial("worse"))

    assert end(server, initial("good")).user == "alice"


def test_a_token_lets_nobody_act_as_somebody_else() -> None:
    assert refusal(talk("OAUTHBEARER"), initial("good", header="n,a=bob,")) == (
        "Authentication failed: Client requested an authorization id (bob) that is different from"
        " the token's principal name (alice)"
    )


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer go od\x01\x01",
        b"n,,\x01host=example\x01\x01",
        initial("good", pairs="trace1=17\x01"),
        initial("good", pairs="trace=\x01"),
        initial("good", header="y,,"),
    ],
)
def test_what_is_no_message_of_oauthbearer_is_refused_without_a_reason(said: bytes) -> None:
    assert refusal(talk("OAUTHBEARER"), said) == SAYS_NOTHING


@settings(max_examples=200)
@given(
    mechanism=st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]),
    said=st.binary(max_size=60),
)
def test_bytes_of_any_kind_are_refused_and_nothing_else_happens(
    mechanism: str, said: bytes
) -> None:
    with pytest.raises(SaslAuthenticationFailed):
        talk(mechanism, _KNOWN).send(said)


_KNOWN = users(alice="secret")
