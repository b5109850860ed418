"""Groups of consumers that are processes, watched: a member, what drives it, what checks it."""
