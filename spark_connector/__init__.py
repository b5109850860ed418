"""The client inside Spark executors."""
