"""Sockets: the only place that has them. Connections, their security, and the way to a node."""
