"""kafka_aio inside Spark executors."""
