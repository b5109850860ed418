"""`python -m kafka_aio.cli`."""

import sys

from kafka_aio.cli import main

if __name__ == "__main__":
    sys.exit(main())
