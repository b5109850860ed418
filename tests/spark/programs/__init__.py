"""Programs of processes of their own: drivers of sessions on clusters (`tests.spark.clusters`)."""
