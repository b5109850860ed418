"""Numbers about a running client: `registry` keeps them. Pure."""
