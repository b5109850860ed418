"""Faults on purpose: rules, what they look at, and the harm they do. Pure."""
