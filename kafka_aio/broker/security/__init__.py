"""Who may come in: TLS, SASL, users and tokens. Pure, but for `certificates` and `authority`."""
