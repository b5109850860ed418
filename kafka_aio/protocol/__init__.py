"""Bytes to messages and back: declarations, their codecs, frames and version negotiation. Pure."""
