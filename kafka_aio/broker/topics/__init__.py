"""Topics, their partitions, and which nodes have them. Pure."""
