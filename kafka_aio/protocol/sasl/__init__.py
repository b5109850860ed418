"""Authentication as challenge and answer, one module per mechanism. Pure.

`exchange` has what they share: the steps, and the order that they come in.
"""

from kafka_aio.protocol.sasl.exchange import Derive as Derive
from kafka_aio.protocol.sasl.exchange import Done as Done
from kafka_aio.protocol.sasl.exchange import Exchange as Exchange
from kafka_aio.protocol.sasl.exchange import Send as Send
from kafka_aio.protocol.sasl.exchange import Step as Step
from kafka_aio.protocol.sasl.exchange import shown as shown
from kafka_aio.protocol.sasl.gssapi import Context as Context
from kafka_aio.protocol.sasl.gssapi import Gssapi as Gssapi
from kafka_aio.protocol.sasl.oauthbearer import OAuthBearer as OAuthBearer
from kafka_aio.protocol.sasl.plain import Plain as Plain
from kafka_aio.protocol.sasl.scram import Scram as Scram
