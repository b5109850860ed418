"""The same work on this library and on its peers, side by side, in one run."""
