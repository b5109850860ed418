"""Record batches: the hot path. `codec` chooses the compiled codec or its twin. Pure."""
