"""Who of a classic group gets which partitions."""
