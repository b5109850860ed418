"""Reading records: what is fetched, handed over, and committed."""
