from kafka_aio.protocol.layout import Layout, Reader

FAILURES: tuple[type[Exception], ...]

def compile_reader(layout: Layout) -> Reader: ...
